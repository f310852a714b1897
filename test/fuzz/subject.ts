/** What is fuzzed: a decoder beside bytes that it really reads. */
import { Malformed } from '../../protocol/encoding/bytes.ts'

export type Subject = {
  name: string
  /** Bytes as they come over the wire or out of a file. */
  real: Uint8Array[]
  /** Decodes, and tells what the value is again as bytes, where the format has one spelling only. */
  read(bytes: Uint8Array): Uint8Array | undefined
  /** Whether an error is the refusal of this format. */
  refuses(error: unknown): boolean
}

export const malformed = (error: unknown): boolean => error instanceof Malformed

export function subject(
  name: string,
  real: Uint8Array[],
  read: (bytes: Uint8Array) => Uint8Array | undefined,
  refuses = malformed,
): Subject {
  return { name, real, read, refuses }
}

/** A format that is only read. */
export function reader(
  name: string,
  real: Uint8Array[],
  read: (bytes: Uint8Array) => unknown,
  refuses = malformed,
): Subject {
  return subject(
    name,
    real,
    bytes => {
      read(bytes)
      return undefined
    },
    refuses,
  )
}

/** A format with one spelling a value. */
export function format<T>(
  name: string,
  real: Uint8Array[],
  codec: { decode(bytes: Uint8Array): T; encode(value: T): Uint8Array },
): Subject {
  return subject(name, real, bytes => codec.encode(codec.decode(bytes)))
}
