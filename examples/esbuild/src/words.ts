import { serve } from 'pointsman/pool';

export const longest = (text: string) =>
  text.split(' ').reduce((best, word) => (word.length > best.length ? word : best));

serve({ longest });
