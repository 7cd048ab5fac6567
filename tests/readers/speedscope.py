#!/usr/bin/env python3
"""Lets speedscope open traces in a headless Chromium and writes down what it understood.

    speedscope.py BROWSER INDEX.HTML SCREENSHOT TRACE EXPORT [TRACE EXPORT]...

Each file is given to its page as a user does, by the file input; then its own Export button is pressed,
and what it hands out, all calls of all profiles, becomes EXPORT. SCREENSHOT is a PNG of the page with
the flame chart of the first. On standard output: the titles and what the toolbar shows.
"""
import base64
import os
import sys
import tempfile

from browser import Browser

FAILED = "document.body.innerText.includes('Something went wrong')"
# What is exported passes by here; a download would only end in a file.
WATCH = """
window.exported = null;
const makeUrl = URL.createObjectURL;
URL.createObjectURL = thing => {
    if (thing instanceof Blob) thing.text().then(text => { window.exported = text; });
    return makeUrl.call(URL, thing);
};
"""
# The chart is drawn in the frames after the file was read.
DRAWN = """
new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
    () => requestAnimationFrame(() => setTimeout(done, 100)))))
"""
PRESS = """
(() => {
    const leaves = [...document.querySelectorAll('div, span, a')].filter(
        node => !node.children.length || [...node.childNodes].some(
            child => child.nodeType === 3 && child.data.includes('Export')));
    const button = leaves.find(node => node.textContent.trim().endsWith('Export'));
    if (!button) return false;
    button.click();
    return true;
})()
"""


def visit(browser, index, trace, export):
    browser.open_page("file://" + os.path.abspath(index), WATCH)
    browser.wait("!!document.querySelector('input[type=file]')", "speedscope: its page does not come up", FAILED)
    browser.give(os.path.abspath(trace))
    browser.wait("document.body.innerText.includes('Export')", "speedscope: it does not open the trace", FAILED)
    browser.value(DRAWN)
    print(browser.value("document.title"))
    print(browser.value("document.body.innerText"))
    if not browser.value(PRESS):
        sys.exit("speedscope: there is no button Export")
    browser.wait("window.exported !== null", "speedscope: nothing is exported", FAILED)
    with open(export, "w", encoding="utf-8") as out:
        out.write(browser.value("window.exported"))


def main():
    if len(sys.argv) < 6 or len(sys.argv) % 2:
        sys.exit(__doc__)
    program, index, screenshot, *files = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            for trace, export in zip(files[::2], files[1::2]):
                visit(browser, index, trace, export)
                if trace == files[0]:
                    with open(screenshot, "wb") as out:
                        out.write(base64.b64decode(browser.ask("Page.captureScreenshot")["data"]))
            browser.close()
        finally:
            browser.process.kill()
            browser.process.wait()


main()
