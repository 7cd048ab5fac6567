"""A headless Chromium, driven by its DevTools protocol over a pipe: JSON, a zero byte behind each message."""
import glob
import json
import os
import subprocess
import sys
import time

SECONDS = 60
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu-sandbox", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--remote-debugging-pipe", "--no-first-run",
         "--disable-background-networking", "--disable-dev-shm-usage",
         "--allow-file-access-from-files", "--window-size=1280,800"]


def said_by(path):
    """What the file has; nothing if it is gone, as those of a thread that ended are."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


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

    def wait(self, expression, what, failed="false"):
        end = time.monotonic() + SECONDS
        while not self.value(expression):
            if time.monotonic() > end or self.value(failed):
                sys.exit("%s (the page shows: %s)" % (
                    what, self.value("document.body.innerText").replace("\n", " ")))
            time.sleep(0.1)

    def open_page(self, url, script=""):
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "DOM":
            self.ask(domain + ".enable")
        self.ask("Page.addScriptToEvaluateOnNewDocument", source=script)
        self.ask("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1,
                 mobile=False)
        self.waited_before = self.waits_ms()
        self.ask("Page.navigate", url=url)

    def close(self):
        """It ends its own children; what does not end is killed."""
        self.session = None
        self.ask("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            pass

    def children(self, pid):
        for tasks in glob.glob("/proc/%d/task/*/children" % pid):
            for child in said_by(tasks).split():
                yield int(child)
                yield from self.children(int(child))

    def waits_ms(self):
        """By process that renders pages: how long its main thread was ready to run, but had no CPU."""
        return {pid: int((said_by("/proc/%d/schedstat" % pid) or "0 0").split()[1]) / 1e6
                for pid in self.children(self.process.pid)
                if "--type=renderer" in said_by("/proc/%d/cmdline" % pid)}

    def waited_ms(self):
        """Such time of the page's process since it was opened."""
        return max((waited - self.waited_before.get(pid, 0) for pid, waited in self.waits_ms().items()), default=0)

    def give(self, path):
        node = self.ask("Runtime.evaluate", expression="document.querySelector('input[type=file]')")
        self.ask("DOM.setFileInputFiles", objectId=node["result"]["objectId"], files=[path])
