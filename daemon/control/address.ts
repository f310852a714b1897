/** Where the control interface listens: set once it does, read by whoever shows it. */
export class ControlAddress {
  /** `host:port`. */
  bound = ''
}
