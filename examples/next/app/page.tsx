import { Widest } from './widest';

export default function Page() {
  return <Widest />;
}
