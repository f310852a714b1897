/** What a server refuses, and a connection that is lost, in words of the port: none of them has an address or a password. */
import { causeCode, connectionFault, tlsFault, UNTRUSTED } from '../../../protocol/encoding/errors.ts'
import { EngineFault, StoreAway, StoreFull, StoreLocked, StoreRefused } from '../port.ts'
import { RightMissing, StoreDenied } from '../setup-refused.ts'
import { NO_PROOF } from './login.ts'

/** A connection was lost before anything was kept, so that what was asked of it may be asked again. */
export class ConnectionCut extends StoreAway {
  override name = 'ConnectionCut'
}

/** The server refused a statement. */
class ServerFault extends EngineFault {
  override name = 'ServerFault'
  readonly code: string
  constructor(code: string, sentence: string) {
    super(sentence)
    this.code = code
  }
}

const LATE = 'it did not answer in time'
const NO_PASSWORD =
  'it asks for a password, and none was given; name a file that holds it with --store-password-file'
/** What the driver says where no code does. */
const DRIVER = new Map([
  ['timeout expired', LATE],
  ['Query read timeout', LATE],
  ['timeout exceeded when trying to connect', 'too much waits for it'],
  ['Connection terminated due to connection timeout', LATE],
  [
    'The server does not support SSL connections',
    'it speaks no TLS; turn ssl on there, or add ?sslmode=disable on a network that is yours alone',
  ],
  ...['a string', 'a non-empty string'].map(
    what => [`SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be ${what}`, NO_PASSWORD] as const,
  ),
])
/** How the driver begins what it says of a server that can't prove itself. */
const PROOF = /^SASL: SCRAM-SERVER-/
const START = 'start its server, or correct host and port in --store'
const ROUTE = 'look at the network between both machines'
const LOOK_UP = 'correct the host in --store, or look at the name server'
const FIREWALL = 'look whether its machine runs, and whether a firewall stands in between'
/** What to do where no connection comes about, by the code of the system. */
const NEXT = new Map([
  ...['ENOENT', 'ECONNREFUSED'].map(code => [code, START] as const),
  ...['EHOSTUNREACH', 'ENETUNREACH'].map(code => [code, ROUTE] as const),
  ...['ENOTFOUND', 'EAI_AGAIN'].map(code => [code, LOOK_UP] as const),
  ['ETIMEDOUT', FIREWALL],
])
const MEND_TLS = 'give the server one for this name, or name its authority in the address: ?sslrootcert=FILE'

/** There is no socket where the address says. */
const NO_SOCKET = 'ENOENT'
const LOCKED = '55P03'
const NO_RIGHT = '42501'
const FULL = '53100'
/** What a new connection meets on a full disk, under a code of its own. */
const FULL_AT_BEGIN = 'could not write init file'
/** Nobody is let in who asks so, by the code of the server. */
const DENIED = new Map([
  [
    '28P01',
    'it refuses the role or its password; look whether it has the role, and whether the file that --store-password-file names holds its password',
  ],
  [
    '28000',
    'it has no such role, or does not let it in from here; make it with createuser, or add a line to pg_hba.conf',
  ],
  ['3D000', 'it has no database of this name; make it with createdb, or correct the name in --store'],
])
/**
 * Classes: connections, access, resources, an operator at work. Codes: takes no writes, waited too long; what a standby says
 * of unlogged tables and of the place of its log.
 */
const AWAY = /^(?:08|28|53|57)|^(?:25006|25P03|25P04|0A000|55000)$/
/** The server ends the connection with these. */
const ENDING = /^(?:08|57P0)|^25P0[34]$/

const awayFor = (why: string): string => `the database is away: ${why}`

/** Why no connection came about, and what to do where that is known. */
function unreached(thrown: unknown): string | undefined {
  const code = causeCode(thrown)
  if (code === undefined) return undefined
  const tls = tlsFault(thrown)
  // an authority of one's own is named in the address here
  if (tls?.startsWith(UNTRUSTED)) return `${UNTRUSTED}; ${MEND_TLS}`
  const why = code === NO_SOCKET ? 'nothing listens there' : connectionFault(thrown)
  const next = tls === undefined ? NEXT.get(code) : MEND_TLS
  return next === undefined ? why : `${why}; ${next}`
}

/** What a server said that refused something. */
function refusedWith(code: string, message: string): Error {
  if (code === FULL || message === FULL_AT_BEGIN)
    return new StoreFull(`the disk of the database is full: ${message}`)
  if (code === LOCKED) return new StoreLocked(`something else holds a lock in the database: ${message}`)
  if (code === NO_RIGHT)
    return new RightMissing(
      code,
      `${message} (${code}); let the owner of its tables grant that: svc-hub init --store <URL> --grant <ROLE>`,
    )
  const denied = DENIED.get(code)
  if (denied !== undefined) return new StoreDenied(awayFor(denied))
  if (ENDING.test(code)) return new ConnectionCut(awayFor(message))
  return AWAY.test(code) ? new StoreAway(awayFor(message)) : new ServerFault(code, `${message} (${code})`)
}

/** What the driver throws where a server answered, and where none did. */
export function faultOf(thrown: unknown): Error {
  if (thrown instanceof Error && 'severity' in thrown && 'code' in thrown)
    return refusedWith(String(thrown.code), thrown.message)
  if (thrown instanceof StoreRefused) return new StoreDenied(awayFor(thrown.message))
  const said = thrown instanceof Error ? thrown.message : ''
  const driver = DRIVER.get(said)
  if (driver === NO_PASSWORD) return new StoreDenied(awayFor(driver))
  if (PROOF.test(said)) return new StoreDenied(awayFor(NO_PROOF))
  return new ConnectionCut(awayFor(driver ?? unreached(thrown) ?? 'the connection was cut'))
}

/** Whether a server stopped answering, as one whose machine is gone does: other connections to it are no better. */
export const isSilence = (thrown: unknown): boolean =>
  thrown instanceof Error && thrown.message === 'Query read timeout'

/** Of a commit nobody knows whether it came to pass; whoever asked for it asks again. */
export class OutcomeUnknown extends StoreAway {
  override name = 'OutcomeUnknown'
}

/** A commit alone that has no answer waits for whoever has to confirm it. */
const ofStandby = ({ message }: Error): string =>
  message.endsWith(LATE) ? '; where a standby has to confirm it, look whether it does: svc-hub doctor' : ''

export const unknownOutcome = (fault: Error): Error =>
  fault instanceof ConnectionCut
    ? new OutcomeUnknown(`${fault.message}; what was being written may be kept${ofStandby(fault)}`)
    : fault

/** Nothing was asked yet where no connection came about; asking again at once changes nothing. */
export const unconnected = (thrown: unknown): Error => {
  const fault = faultOf(thrown)
  return fault instanceof ConnectionCut ? new StoreAway(fault.message) : fault
}
