/**
 * What goes wrong comes in three kinds. A refusal answers what somebody gave or asked for, and has a code. A failure is
 * the network, the disk or another machine, and may be tried again or reported. Everything else is a mistake of ours.
 */

/** Base of every refusal; programs decide by `code`, people read the message. */
export abstract class Refusal<Code extends string = string> extends Error {
  readonly code: Code
  constructor(code: Code, sentence: string, options?: ErrorOptions) {
    super(sentence, options)
    this.code = code
  }
}

/** Base of every failure. */
export abstract class Failure extends Error {}

/** The code by which the operating system or the runtime names an error, such as ENOENT. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof Refusal || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

const CAUSES_DEEP_MAX = 6
/** The code of what the runtime gives a name alone. */
const codesOfNames = new Map([
  ['TimeoutError', 'ETIMEDOUT'],
  ['HTTPParserError', 'HPE_INVALID_CONSTANT'],
])

/** The code of the system or the runtime wherever in the chain of causes of an error. */
export function causeCode(error: unknown): string | undefined {
  let cause = error
  for (let depth = 0; depth < CAUSES_DEEP_MAX && cause instanceof Error; depth++) {
    const code = codesOfNames.get(cause.name) ?? systemCode(cause)
    if (code !== undefined) return code
    cause = cause.cause
  }
  return undefined
}

/** What is said of a certificate whose authority is not known. */
export const UNTRUSTED = 'its certificate is of nobody that this machine trusts'
const PRIVATE_CA = `${UNTRUSTED} – where your network has an authority of its own, name its file in NODE_EXTRA_CA_CERTS`

/** What the system and the runtime mean by their codes. */
export const systemFaults: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of the path is not a folder',
  ENOTEMPTY: 'the folder is not empty',
  EEXIST: 'there is one already',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'it is a symbolic link',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the disk is read-only',
  ENXIO: 'it is not a regular file',
  EFBIG: 'it is too large',
  EIO: 'the disk failed',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ENOEXEC: 'it is not a program of this machine',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ETIMEDOUT: 'it did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'it did not answer in time',
  UND_ERR_BODY_TIMEOUT: 'it did not answer in time',
  UND_ERR_ABORTED: 'the connection ended before an answer; a proxy may have refused it',
  HPE_INVALID_CONSTANT: 'what answers there is no HTTP',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'this machine has no way to it',
  ENETUNREACH: 'this machine has no way to it',
  EADDRINUSE: 'the address is in use',
  EADDRNOTAVAIL: 'the address is not of this machine',
  DEPTH_ZERO_SELF_SIGNED_CERT: PRIVATE_CA,
  SELF_SIGNED_CERT_IN_CHAIN: PRIVATE_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: PRIVATE_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: PRIVATE_CA,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, so the clock here or there may be wrong',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'what answers there speaks no TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'what answers there speaks no TLS',
}
const OF_SYSTEM = /^(E[A-Z0-9]{2,}|HPE_INVALID_CONSTANT|UND_ERR_\w+|ERR_TLS_\w+|ERR_SSL_\w+|[A-Z]+_CERT\w*)$/

/** The meaning of a code of the system; one that is not in the table is shown, so that it can be looked up. */
export function systemFault(code: string): string {
  return Object.hasOwn(systemFaults, code)
    ? (systemFaults[code] as string)
    : `the system refused it (${code})`
}

const OF_TLS = /^(ERR_TLS_|ERR_SSL_|CERT_)|_CERT|^UNABLE_TO_(GET|VERIFY)_|^HOSTNAME_MISMATCH$/

/** Why there was no secure connection to what can be reached; undefined where that is not what failed. */
export function tlsFault(error: unknown): string | undefined {
  const code = causeCode(error)
  return code !== undefined && OF_TLS.test(code) ? systemFault(code) : undefined
}

/** What a failed connection says to people: the meaning of the code in its chain of causes, else its own sentence. */
export function connectionFault(error: unknown): string {
  const code = causeCode(error)
  return code === undefined ? wordsOf(error) : systemFault(code)
}

/** What an error says to people: of the system's errors the meaning, of ours their own sentence. */
export function wordsOf(error: unknown): string {
  const code = systemCode(error)
  if (code !== undefined && OF_SYSTEM.test(code)) return systemFault(code)
  return error instanceof Error ? error.message : String(error)
}
