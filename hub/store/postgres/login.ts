/**
 * Logging in where neither a certificate nor the file system says who listens: while a server is down, every user of its
 * machine may take its port, or its socket where others may write into its folder. So the password is used for SCRAM
 * alone, which tells nobody what it is, and the server has to show that it knows it too.
 */
import type { Socket } from 'node:net'
import pg from 'pg'
import { SetupRefused } from '../setup-refused.ts'
import type { Address } from './address.ts'
import { isGuarded } from './socket-folder.ts'

/** Of the driver what its types leave out: a null session is one whose server gave its proof. */
type Driver = {
  readonly connection: NodeJS.EventEmitter & {
    readonly stream: Socket
    attachListeners(stream: Socket): void
  }
  readonly saslSession?: object | null
}

const MEND =
  "set password_encryption = 'scram-sha-256' there and the password anew, in PgBouncer auth_type = scram-sha-256; or reach it over TLS, or over a socket in a folder where no other user may write"
const asksFor = (what: string): string =>
  `it asks for ${what}, which is given over TLS or a guarded socket alone, since anybody could listen there; ${MEND}`
const ASKS_FOR_NOTHING = `it asks for no password, so it does not show that it is the database; ${MEND}`
export const NO_PROOF =
  'it does not show that it knows the password, so another program may listen there; look which one, and start its server'

const UNREADABLE = `it does not answer as PostgreSQL does, or asks to log in by a way that the hub does not know; ${MEND}`

/** What asks for more than a proof, by the name that the driver gives it. */
const asking = {
  authenticationCleartextPassword: asksFor('the password itself'),
  authenticationMD5Password: asksFor('an MD5 hash of the password'),
}

class ScramClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    const { connection } = this as unknown as Driver
    survive(connection)
    // heard before the driver hears of it: whatever it answers then has no way to go
    connection.on('error', () => {
      connection.removeAllListeners('readyForQuery')
      connection.stream.destroy()
    })
    for (const [event, sentence] of Object.entries(asking))
      connection.on(event, () => refuse(connection, sentence))
  }
}

/** Of what it can't read the driver throws out of a listener, which would end the process. */
function survive(connection: Driver['connection']): void {
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = stream => {
    const others = stream.listeners('data')
    attach(stream)
    for (const read of stream.listeners('data').filter(one => !others.includes(one))) {
      stream.removeListener('data', read as () => void)
      stream.on('data', chunk => {
        try {
          read(chunk)
        } catch {
          refuse(connection, UNREADABLE)
        }
      })
    }
  }
}

class ProvenClient extends ScramClient {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    const driver = this as unknown as Driver
    driver.connection.on('authenticationOk', () => {
      if (driver.saslSession === undefined) refuse(driver.connection, ASKS_FOR_NOTHING)
      else if (driver.saslSession !== null) refuse(driver.connection, NO_PROOF)
    })
  }
}

const refuse = (connection: Driver['connection'], sentence: string): void =>
  void connection.emit('error', new SetupRefused(sentence))

/** The client of the driver by which an address is reached; one without a password has nothing to be proven by. */
export function clientFor({ host, tls }: Address, hasPassword: boolean): typeof pg.Client {
  if (tls !== false || (host.startsWith('/') && isGuarded(host))) return pg.Client
  return hasPassword ? ProvenClient : ScramClient
}
