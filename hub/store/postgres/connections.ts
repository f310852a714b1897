/**
 * What the engine asks of a database server: statements, and transactions that have a connection to themselves. A
 * connection keeps nothing between two transactions, so that a pooler may stand between; each transaction says itself how
 * long it may take, and a server that stops answering is given up.
 */
import { Socket } from 'node:net'
import pg from 'pg'
import { present } from '../../../protocol/encoding/present.ts'
import { EngineFault, StoreAway } from '../port.ts'
import { type Address, addressOf, passwordIn } from './address.ts'
import { ConnectionCut, faultOf, isSilence, unconnected, unknownOutcome } from './faults.ts'
import { clientFor } from './login.ts'

/** What a statement is given for a parameter. */
type Single = null | number | string | boolean | Uint8Array
export type Value = Single | readonly Single[]

export interface Queries {
  all<T>(sql: string, ...values: Value[]): Promise<T[]>
  /** The first row. */
  one<T>(sql: string, ...values: Value[]): Promise<T | undefined>
  /** How many rows were changed. */
  run(sql: string, ...values: Value[]): Promise<number>
}

/**
 * `patient`: may take as long as it needs, as a migration does. `holds`: has a lock for work that is done elsewhere. `reads`:
 * changes nothing. `lockMs`: waits no longer than this for a lock.
 */
export type TransactionOptions = { patient?: boolean; holds?: boolean; reads?: boolean; lockMs?: number }

/** Outside a transaction `all` and `one` only read. */
export interface Connections extends Queries {
  /** Commits what the work did; where it throws, nothing of it is kept. */
  transaction<T>(work: (db: Queries) => Promise<T>, options?: TransactionOptions): Promise<T>
  close(): Promise<void>
}

const CONNECTIONS_MAX = 6
const PATIENT_MS = 24 * 3_600_000
const PATIENT_IDLE_MS = 600_000
/** The epoch of a day with a million accounts is made in less. */
const HOLDS_MS = 60_000
const COMMIT = 'COMMIT'
const KEEP_ALIVE_MS = 10_000

/**
 * How long a connection may take to come about, a statement to end or to wait for a lock, and a transaction to say
 * nothing; and when no answer comes any more.
 */
type Bounds = {
  connectMs: number
  statementMs: number
  lockMs: number
  idleMs: number
  answerMs: number
  /** For the answer to a commit of a transaction that is patient otherwise: its standby may be lost. */
  patientCommitMs: number
}
const BOUNDS: Bounds = {
  connectMs: 5000,
  statementMs: 15_000,
  lockMs: 10_000,
  idleMs: 10_000,
  answerMs: 20_000,
  patientCommitMs: 60_000,
}
const boundsOf = (
  bounds: Bounds,
  { patient = false, holds = false, lockMs = bounds.lockMs }: TransactionOptions,
): Bounds =>
  patient
    ? patientOf(bounds)
    : { ...bounds, lockMs: Math.min(bounds.lockMs, lockMs), idleMs: holds ? HOLDS_MS : bounds.idleMs }
const patientOf = (bounds: Bounds): Bounds => ({
  ...bounds,
  ...{ statementMs: 0, lockMs: 0, idleMs: PATIENT_IDLE_MS, answerMs: PATIENT_MS },
})

/** Said each time, since a role may set them otherwise for itself: where the tables are, and that a commit is kept. */
export const TABLES = 'search_path = public, pg_temp'
export const KEPT = 'synchronous_commit = on'
/** All of it stands until the end of the transaction, also where a pooler lends out its connection. */
const begin = ({ statementMs, lockMs, idleMs }: Bounds): string =>
  `BEGIN; SET LOCAL transaction_isolation = 'read committed'; SET LOCAL ${TABLES}; SET LOCAL ${KEPT};` +
  ` SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = ${lockMs};` +
  ` SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`
/** A read waits for no lock but within its statement, and its end is sent along with it. */
const beginReading = ({ statementMs }: Bounds): string =>
  `BEGIN READ ONLY; SET LOCAL ${TABLES}; SET LOCAL statement_timeout = ${statementMs}`

const { INT8, BYTEA } = pg.types.builtins
const bytesOf = pg.types.getTypeParser(BYTEA, 'text') as (text: string) => Buffer

/** What keeps nothing if the transaction did not begin. */
const QUESTION = /^\s*SELECT\b/

/** Integers come as numbers: the schema keeps them within what these hold. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: Number,
  [BYTEA](text) {
    const { buffer, byteOffset, length } = bytesOf(text)
    return new Uint8Array(buffer, byteOffset, length)
  },
}
export const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) => parsers[type] ?? pg.types.getTypeParser(type, format as 'text'),
}

export type ConnectOptions = {
  /** Holds the password; it is read again for each connection. */
  passwordFile?: string | undefined
  connectionsMax?: number
  bounds?: Partial<Bounds>
}

/** Connections to the server of a `postgres://` address. */
export function connectTo(url: string, options: ConnectOptions = {}): Connections {
  if (options.passwordFile !== undefined) passwordIn(options.passwordFile)
  const pool = new ServerPool(addressOf(url), options)
  const read = async (sql: string, values: Value[]): Promise<pg.QueryResult> => {
    try {
      return await pool.read(sql, values)
    } catch (error) {
      // whatever was read on a connection that was cut is read again on another one
      if (!(error instanceof ConnectionCut)) throw error
      return await pool.read(sql, values)
    }
  }
  const transaction: Connections['transaction'] = (work, given) => pool.transaction(work, given)
  return {
    all: async <T>(sql: string, ...values: Value[]) => (await read(sql, values)).rows as T[],
    one: async <T>(sql: string, ...values: Value[]) => (await read(sql, values)).rows[0] as T | undefined,
    run: (sql, ...values) => transaction(db => db.run(sql, ...values)),
    transaction,
    close: () => pool.close(),
  }
}

class ServerPool {
  readonly #pool: pg.Pool
  readonly #sockets = new Set<Socket>()
  readonly #bounds: Bounds

  constructor(address: Address, { passwordFile, connectionsMax, bounds }: ConnectOptions) {
    const { host, port, user, database, password, tls } = address
    this.#bounds = { ...BOUNDS, ...bounds }
    this.#pool = new pg.Pool({
      ...{ host, port, user, database, types },
      Client: clientFor(address, (passwordFile ?? password) !== undefined),
      // a function is asked for each connection, and shows nothing to whoever prints the pool
      password: () => (passwordFile === undefined ? (password ?? '') : passwordIn(passwordFile)),
      ssl: tls,
      max: connectionsMax ?? CONNECTIONS_MAX,
      connectionTimeoutMillis: this.#bounds.connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      pipeline: true,
      stream: () => this.#socket(),
    } as pg.PoolConfig)
    // whoever uses a connection that is lost hears of it by his statement; an idle one is replaced
    this.#pool.on('error', () => undefined)
    this.#pool.on('connect', client => void client.on('error', () => undefined))
  }

  #socket(): Socket {
    const socket = new Socket()
    this.#sockets.add(socket)
    return socket.once('close', () => this.#sockets.delete(socket))
  }

  async transaction<T>(work: (db: Queries) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const bounds = boundsOf(this.#bounds, options)
    const session = await this.#session(bounds)
    try {
      session.begin(bounds)
      const done = await work(session)
      await session.commit()
      session.release()
      return done
    } catch (error) {
      await session.giveUp()
      throw error
    }
  }

  /** One statement in a transaction of its own, which goes out as a whole and costs one answer. */
  async read(sql: string, values: Value[]): Promise<pg.QueryResult> {
    const session = await this.#session(this.#bounds)
    const [began, read, ended] = await Promise.allSettled([
      session.ask(beginReading(this.#bounds)),
      session.ask(sql, values),
      session.ask(COMMIT),
    ])
    session.release()
    for (const each of [began, ended]) if (each.status === 'rejected') throw each.reason
    if (read.status === 'rejected') throw read.reason
    return read.value
  }

  async #session({ answerMs, patientCommitMs }: Bounds): Promise<Session> {
    const commitMs = Math.min(answerMs, patientCommitMs)
    try {
      return new Session(await this.#pool.connect(), { answerMs, commitMs }, () => this.#dropAll())
    } catch (error) {
      throw unconnected(error)
    }
  }

  /** Whatever else is connected to a server that is silent would wait as long. */
  #dropAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    await this.#pool.end()
    this.#dropAll()
  }
}

/** A connection while one transaction has it. */
class Session implements Queries {
  readonly #client: pg.PoolClient
  readonly #times: Readonly<{ answerMs: number; commitMs: number }>
  readonly #onSilence: () => void
  #away: StoreAway | undefined
  #began: Promise<unknown> | undefined

  constructor(client: pg.PoolClient, times: { answerMs: number; commitMs: number }, onSilence: () => void) {
    this.#client = client
    this.#times = times
    this.#onSilence = onSilence
  }

  /** Questions go out along with it, so that they cost no answer more; what changes rows waits for its answer. */
  begin(bounds: Bounds): void {
    const began = this.ask(begin(bounds)).then(() => {
      this.#began = undefined
    })
    began.catch(() => undefined)
    this.#began = began
  }

  async #asked(text: string, values?: Value[]): Promise<pg.QueryResult> {
    if (this.#began !== undefined && !QUESTION.test(text)) await this.#began
    return await this.ask(text, values)
  }

  async ask(text: string, values?: Value[]): Promise<pg.QueryResult> {
    if (this.#away !== undefined) throw this.#away
    try {
      const { answerMs, commitMs } = this.#times
      const query_timeout = text === COMMIT ? commitMs : answerMs
      const asked = { text, query_timeout, ...present({ values }) }
      return await this.#client.query(asked)
    } catch (error) {
      const fault = faultOf(error)
      if (fault instanceof StoreAway) this.#away = fault
      // a commit may wait for a standby while its server answers everybody else
      if (isSilence(error) && text !== COMMIT) this.#onSilence()
      throw fault
    }
  }

  async all<T>(sql: string, ...values: Value[]): Promise<T[]> {
    return (await this.#asked(sql, values)).rows as T[]
  }

  async one<T>(sql: string, ...values: Value[]): Promise<T | undefined> {
    return (await this.#asked(sql, values)).rows[0] as T | undefined
  }

  async run(sql: string, ...values: Value[]): Promise<number> {
    return (await this.#asked(sql, values)).rowCount ?? 0
  }

  async commit(): Promise<void> {
    try {
      const { command } = await this.#asked(COMMIT)
      if (command !== COMMIT) throw new EngineFault('a transaction was rolled back that was to be kept')
    } catch (error) {
      throw error instanceof Error ? unknownOutcome(error) : error
    }
  }

  /** Connections that are lost, and those to a server that takes nothing now, are replaced. */
  release(): void {
    this.#client.release(this.#away !== undefined)
  }

  async giveUp(): Promise<void> {
    if (this.#away === undefined) await this.ask('ROLLBACK').catch(() => undefined)
    this.release()
  }
}
