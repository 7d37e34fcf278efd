/** Compiles TypeScript in this thread and, because workers inherit `--import`, in each thread that it starts. */
import { register } from 'tsx/esm/api';

register();
