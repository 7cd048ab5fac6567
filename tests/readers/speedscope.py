#!/usr/bin/env python3
"""Lets speedscope open traces in a headless Chromium and writes down what it understood.

    speedscope.py BROWSER INDEX.HTML SCREENSHOT TRACE EXPORT [TRACE EXPORT]...

Each file is given to its page as a user does, by the file input; then its own Export button is pressed,
and what it hands out, all calls of all profiles, becomes EXPORT. SCREENSHOT is a PNG of the page with
the flame chart of the first. On standard output: the titles and what the toolbar shows.

The browser is driven by its DevTools protocol over a pipe: JSON, a zero byte behind each message.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

SECONDS = 60
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu-sandbox", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--remote-debugging-pipe", "--no-first-run",
         "--disable-background-networking", "--disable-dev-shm-usage",
         "--allow-file-access-from-files", "--window-size=1280,800"]
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


class Browser:
    def __init__(self, program, profile):
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()
        self.last, self.rest, self.session = 0, b"", None

        def wire():
            os.dup2(to_browser, 103)
            os.dup2(from_browser, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            [program, *FLAGS, "--user-data-dir=" + profile, "about:blank"], preexec_fn=wire,
            pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.reader, 1 << 20)
            if not more:
                sys.exit("the browser ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.last:
                break
        if "error" in answer:
            sys.exit("%s: %s" % (method, answer["error"]["message"]))
        return answer["result"]

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True,
                          awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit("the page: " + json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, expression, what):
        end = time.monotonic() + SECONDS
        while not self.value(expression):
            if time.monotonic() > end or self.value(
                    "document.body.innerText.includes('Something went wrong')"):
                sys.exit("speedscope: %s (it shows: %s)" % (
                    what, self.value("document.body.innerText").replace("\n", " ")))
            time.sleep(0.1)

    def open_page(self, url):
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "DOM":
            self.ask(domain + ".enable")
        self.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        self.ask("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1,
                 mobile=False)
        self.ask("Page.navigate", url=url)

    def close(self):
        """It ends its own children; what does not end is killed."""
        self.session = None
        self.ask("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            pass

    def give(self, path):
        node = self.ask("Runtime.evaluate", expression="document.querySelector('input[type=file]')")
        self.ask("DOM.setFileInputFiles", objectId=node["result"]["objectId"], files=[path])


def visit(browser, index, trace, export):
    browser.open_page("file://" + os.path.abspath(index))
    browser.wait("!!document.querySelector('input[type=file]')", "its page does not come up")
    browser.give(os.path.abspath(trace))
    browser.wait("document.body.innerText.includes('Export')", "it does not open the trace")
    browser.value(DRAWN)
    print(browser.value("document.title"))
    print(browser.value("document.body.innerText"))
    if not browser.value(PRESS):
        sys.exit("speedscope: there is no button Export")
    browser.wait("window.exported !== null", "nothing is exported")
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
