/** An AbortController that counts the listeners on its signal. */
export class WatchedController extends AbortController {
  private readonly present = new Set<unknown>();

  constructor() {
    super();
    const { signal, present } = this;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...parameters: Parameters<typeof addEventListener>) => {
      present.add(parameters[1]);
      addEventListener.apply(signal, parameters);
    };
    signal.removeEventListener = (...parameters: Parameters<typeof removeEventListener>) => {
      present.delete(parameters[1]);
      removeEventListener.apply(signal, parameters);
    };
  }

  /** An aborted signal keeps nothing alive and never fires again. */
  get listeners(): number {
    return this.signal.aborted ? 0 : this.present.size;
  }
}
