/** Randomness of the machine, for programs to pass in. */

/** Fresh bytes from the operating system. */
export const systemRandom = (length: number): Uint8Array =>
  // asked of the runtime by name: a command that needs none does not load its cryptography
  new Uint8Array(process.getBuiltinModule('node:crypto').randomBytes(length))
