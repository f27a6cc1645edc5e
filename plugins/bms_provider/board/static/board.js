"use strict";
// Airflow stores its theme under this key; "system", or no value, means the browser's preference.
const follow = () => {
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "system";
};
follow();
addEventListener("storage", follow);

// Airflow shows the board in a frame that may not navigate its window: the document of the window has
// to follow the links to Airflow's pages.
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
