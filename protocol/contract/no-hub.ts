/** What the first question to an address shows where no hub answers it. */
import { causeCode } from '../encoding/errors.ts'
import { ForeignAnswer, Refused } from './client.ts'

const NO_HTTP = /^HPE_/
const NO_TLS = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO']
const CUT = ['ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE']
/** A hub tells everybody who it is; a node asks who calls. */
const OF_A_NODE = 'unauthorized'
/** Beyond it a gateway speaks for a hub that may be down. */
const STATUS_OF_GATEWAYS = 500

/**
 * Says that `url` is no hub, or how it is to be written; undefined where it may be one that does not answer now. `isCode`: of
 * a refusal, whether a hub of the wire in question has it.
 */
export function sayNoHubOf(
  error: unknown,
  url: string,
  isCode: (code: string) => boolean,
): string | undefined {
  const { origin, protocol } = new URL(url)
  const code = causeCode(error) ?? ''
  if (protocol === 'http:' && CUT.includes(code))
    return `${origin} cut the connection without an answer; if it takes TLS, its address begins with https://`
  const why = whyNoHub(error, code, isCode)
  return why === undefined ? undefined : `this is no svc hub: ${origin} ${why}`
}

function whyNoHub(error: unknown, code: string, isCode: (code: string) => boolean): string | undefined {
  if (NO_HTTP.test(code)) return 'does not answer in HTTP; if it takes TLS, its address begins with https://'
  if (NO_TLS.includes(code)) return 'does not answer in TLS; without TLS its address begins with http://'
  if (error instanceof Refused && error.code === OF_A_NODE)
    return 'asks for a token, as the control interface of a svc node does; give the address of a hub'
  if (error instanceof Refused && !isCode(error.code)) return whatCame(error.status, 'words that no hub uses')
  return error instanceof ForeignAnswer ? whatCame(error.status, error.type) : undefined
}

function whatCame(status: number, type: string | undefined): string | undefined {
  if (status >= STATUS_OF_GATEWAYS) return undefined
  if (status >= 300 && status < 400) return `sends to another address (HTTP ${status}); give that one`
  return `answers HTTP ${status} with ${type ?? 'something else'}; its operator knows the address`
}
