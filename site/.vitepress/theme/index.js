/** The default theme with code that fits, a home page, a page for missing addresses, and a link to a measured report. */
import searchIndex from '@localSearchIndex';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import { NotFound } from './not-found.js';
import { ReportLink } from './report-link.js';
import './style.css';
import './home.css';

/** The first search would show an empty box while the index loads, as if it had no results. */
function preloadSearch() {
  if (import.meta.env.SSR || navigator.connection?.saveData) return;
  const whenIdle = window.requestIdleCallback ?? ((run) => setTimeout(run, 1_000));
  window.addEventListener('load', () => whenIdle(() => searchIndex.root()), { once: true });
}

export default {
  extends: DefaultTheme,
  enhanceApp: preloadSearch,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'not-found': () => h(NotFound),
      'doc-before': () => h(ReportLink),
    }),
};
