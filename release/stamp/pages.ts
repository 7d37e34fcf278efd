/** The address on pages of the repository that are read where relative links lead nowhere. */
import type { Facts } from './facts.js';

/** SECURITY.md has one link, whose text stays. */
export function stampSecurity(text: string, { address }: Facts): string {
  if (!address) return text;
  return text.replace(
    /(?:\[Report a vulnerability\]\([^)]*\)|"Report a vulnerability")/,
    `[Report a vulnerability](${address.advisory})`,
  );
}

/** The choice of issue forms, which can lead elsewhere by a whole address only. */
export function stampIssueForms(text: string, { address }: Facts): string {
  if (!address) return text;
  return `${text.split('contact_links:')[0]?.trimEnd()}
contact_links:
  - name: A vulnerability
    url: ${address.advisory}
    about: Report it here, where only the maintainers read it.
`;
}
