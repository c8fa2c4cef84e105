// The search runs in a worker, and browsers refuse workers to pages that are read from the disk. There, an
// invisible frame does the same work: it loads the worker's script and hands messages to and fro. The theme
// looks for the name IFrameWorker to know.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame;
      this.waiting = [];
      window.addEventListener("message", (event) => {
        if (event.data?.frame === url) {
          this.dispatchEvent(new MessageEvent("message", { data: event.data.message }));
        }
      });
      const inside = frame.contentDocument;
      inside.open();
      inside.write("<!doctype html><body></body>");
      inside.close();
      const scope = frame.contentWindow;
      scope.postMessage = (message) => window.postMessage({ frame: url, message }, "*");
      scope.importScripts = (...urls) =>
        urls.reduce((done, one) => done.then(() => this.load(one)), Promise.resolve());
      this.load(url).then(() => {
        this.ready = true;
        this.waiting.forEach((message) => this.postMessage(message));
      });
    }

    load(url) {
      return new Promise((done) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = done;
        this.frame.contentDocument.body.append(script);
      });
    }

    postMessage(message) {
      if (!this.ready) return this.waiting.push(message);
      const data = new MessageEvent("message", { data: message });
      this.frame.contentWindow.dispatchEvent(data);
    }
  };
  window.Worker = window.IFrameWorker;
}
