/** Stamps the address into pages that are shown where relative links do not work. */
import type { Facts } from './facts.js';

/** Stamps the one link of SECURITY.md, and keeps its text. */
export function stampSecurity(text: string, { address }: Facts): string {
  if (!address) return text;
  return text.replace(
    /(?:\[Report a vulnerability\]\([^)]*\)|"Report a vulnerability")/,
    `[Report a vulnerability](${address.advisory})`,
  );
}

/** Stamps the chooser of issue forms, whose links must be absolute. */
export function stampIssueForms(text: string, { address }: Facts): string {
  if (!address) return text;
  return `${text.split('contact_links:')[0]?.trimEnd()}
contact_links:
  - name: A vulnerability
    url: ${address.advisory}
    about: Report it here, where only the maintainers can read it.
`;
}

/**
 * Stamps the guides that a package's README names: a registry shows it without the files of the repository. They are
 * plain text until there is an address.
 */
export function stampReadme(text: string, { address }: Facts): string {
  if (!address) return text;
  return text.replace(
    /\[(`docs\/[\w/-]+\.md`)\]\([^)]*\)|(`docs\/[\w/-]+\.md`)/g,
    (_, linked?: string, plain?: string) => {
      const guide = linked ?? plain ?? '';
      return `[${guide}](${address.files}${guide.replaceAll('`', '')})`;
    },
  );
}
