/** The npm package has no types. */
declare module 'workerd' {
  const workerd: {
    /** The path of this platform's program. */
    readonly default: string;
  };
  export default workerd;
}
