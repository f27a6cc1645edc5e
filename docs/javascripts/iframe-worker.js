// Runs the search in a frame where the site is opened from a folder: browsers start no worker for a file.
if (location.protocol === "file:") {
  const load = (inside, url) =>
    new Promise((loaded, failed) => {
      const script = inside.document.createElement("script");
      script.src = url;
      script.onload = loaded;
      script.onerror = failed;
      inside.document.body.append(script);
    });

  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      inside.document.close();
      inside.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => load(inside, each)), Promise.resolve());
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(inside, new URL(url, document.baseURI).href);
    }

    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
