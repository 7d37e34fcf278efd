/** On the page of the results: a link to the full report, if the lab has run before the site was built. */
import { useData, withBase } from 'vitepress';
import { h } from 'vue';

export const ReportLink = {
  setup() {
    const { page, theme } = useData();
    return () => {
      const { report } = theme.value;
      if (!report || page.value.relativePath !== 'docs/results.md') return undefined;
      const link = h('a', { href: withBase(report.link), target: report.target }, report.text);
      return h('p', { class: 'vp-doc report-link' }, [
        link,
        ' of the latest run has all rows and figures.',
      ]);
    };
  },
};
