// Names and focus that the theme's elements lack; it adds some of them after the page has loaded.
const named = () => {
  document.querySelector(".md-search").setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-typeset__scrollwrap, pre > code").forEach((each) => (each.tabIndex = 0));
  document.querySelectorAll(".md-code__nav").forEach((each, n) => each.setAttribute("aria-label", `Code ${n + 1}`));
};
new MutationObserver(named).observe(document.querySelector("main"), { childList: true, subtree: true });
named();
