"""A saved page as whoever got the file opens it."""

from tests.browser.conftest import SCREENSHOTS

from xlascope_widgets.export import save


class Opened:
    """A saved page in a browser that is offline, with everything it complained of."""

    def __init__(self, windows, folder, **kind):
        self.page = windows(offline=True, **kind).new_page()
        self.page.set_viewport_size({"width": 1280, "height": 1000})
        self.page.set_default_timeout(10_000)
        self.folder = folder
        self.complaints = []
        self.requests = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        self.page.on("request", lambda request: self.requests.append(request.url[:80]))

    def show(self, shown, name="page.html"):
        save(shown, self.folder / name)
        self.page.goto((self.folder / name).as_uri())

    def open(self, path):
        self.page.goto(path.as_uri())

    def find(self, selector, **options):
        return self.page.locator(selector, **options)

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
