/** Where the control interface listens: set once it does, read by whoever shows it. */
export class ControlAddress {
  /** `host:port`. */
  bound = ''
  /** The configured one, where somebody else holds it. */
  missed: string | undefined
}
