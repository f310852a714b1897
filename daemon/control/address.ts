/** Where the control interface listens: set once it does, read by whoever shows it. */
export class ControlAddress {
  /** `host:port`. */
  bound = ''
  /** The configured one, where somebody else holds it. */
  missed: string | undefined
  /** Somebody else has the same port at the other loopback address. */
  isAlone = false
  /** Opens another port of this machine, at which nobody was asked for anything; its `host:port`. */
  newPlace: (() => Promise<string>) | undefined
}
