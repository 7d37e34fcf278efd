/** The default theme with code that fits, a home page, a page for missing addresses, and a link to a measured report. */
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import { NotFound } from './not-found.js';
import { ReportLink } from './report-link.js';
import './style.css';
import './home.css';

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'not-found': () => h(NotFound),
      'doc-before': () => h(ReportLink),
    }),
};
