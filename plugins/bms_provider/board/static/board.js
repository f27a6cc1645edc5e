"use strict";
// Airflow keeps its theme under this name; "system" and nothing mean what the browser prefers.
const follow = () => {
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "system";
};
follow();
addEventListener("storage", follow);

// Airflow shows the board in a frame that may not lead its window elsewhere: the window's own
// document has to follow a link to one of Airflow's pages.
if (window.parent !== window) {
  addEventListener("click", (event) => {
    const link = event.target.closest("a[target=_top]");
    if (!link) return;
    event.preventDefault();
    const outside = parent.document.createElement("a");
    outside.href = link.href;
    if (event.ctrlKey || event.metaKey || event.shiftKey) outside.target = "_blank";
    outside.click();
  });
}
