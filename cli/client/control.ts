/**
 * The client of a running node: finds its control interface by the identity's data directory or the pointer of the
 * only daemon, and calls operations. When nothing answers, the error names what was tried and which nodes do run.
 */

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  currentIdentity,
  type DaemonEntry,
  DEFAULT_IDENTITY,
  daemonsOf,
  identityDirectory,
  type Selection,
  selectIdentity,
} from '../../daemon/home/home.ts'
import { MOVED_NEXT, sayMoved } from '../../daemon/home/moved.ts'
import { newNonce, proofOf } from '../../daemon/home/proof.ts'
import { ownSocket, socketMark } from '../../daemon/home/socket.ts'
import { readRegular } from '../../daemon/platform/files.ts'
import type { Call } from '../../protocol/contract/client.ts'
import type { ReplyOf } from '../../protocol/contract/route.ts'
import { CONTROL_ADDRESS_DEFAULT } from '../../protocol/control/address.ts'
import type { ControlCode } from '../../protocol/control/codes.ts'
import type { OperationName, Operations } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, messageOf } from '../io.ts'
import { sayWhileWaiting } from '../waiting.ts'
import { HungNode } from './entries.ts'
import { exchange, type LoopbackReply, NoAnswer } from './loopback.ts'
import { operationIndex } from './operation-index.ts'

const TIMEOUT_MS = 30_000
/** For what a node answers from its memory. */
const SHORT_TIMEOUT_MS = 5_000
const SHORT: readonly OperationName[] = ['status', 'shutdown']
const PROOF_WAIT_MS = 5_000
/** Running nodes that an error names. */
const NAMED_MAX = 3
/** For what a node may need longer than a moment; anything else is the node itself. */
const WAITS: Partial<Record<OperationName, string>> = {
  hubRegister: 'the hub, which may ask for a proof of work',
  hubLeave: 'the hub',
  profileSet: 'the hub',
  visibility: 'the hub',
  p2pAdvertise: 'the hub',
  find: 'the hub',
  idRotate: 'the hub',
  autoReplyTest: 'the answer of the backend',
  autoReplyAttack: 'the agent, which is attacked twice',
  autoReplySet: 'the backend; an agent that is new here is tried first',
  inbox: 'mail',
  results: 'mail',
}
const NOT_THE_NODE = '; another program listens there, and was sent no token'

export type Target = {
  selection: Selection
  entry: DaemonEntry | undefined
  address: string
  dataDir: string
  /** For sessions, the socket on which this node answers, apart from that of any other start. */
  mark: string | undefined
  /** No other node can be meant. */
  isOnly: boolean
}

/** Whose node is meant: that of a command line, or of one identity whatever is chosen or runs later, as it was found last. */
export type Whom = Pick<Input, 'id'> | { readonly selection: Selection; readonly known?: Target | undefined }

/** The selected identity and no other, as if it had been named. */
export const ownSelection = (io: Io, id: string | undefined): Selection => ({
  ...selectIdentity(io.env, id),
  explicit: true,
})

/** Where the node that is meant should answer; one of another directory only where this home has no identity. */
export function findTarget(io: Io, whom: Whom): Target {
  const isSession = 'selection' in whom
  const selection = isSession ? whom.selection : selectIdentity(io.env, whom.id)
  const mark = isSession ? socketMark(io.env, selection.dir) : undefined
  if (isSession && mark !== undefined && whom.known?.mark === mark) return whom.known
  const running = daemonsOf(io.env)
  const own = running.find(entry => entry.data_dir === selection.dir)
  const [only] = running.length === 1 && !selection.explicit && !hasIdentity(selection.dir) ? running : []
  const entry = own ?? only
  const address = entry?.control_addr ?? configuredAddress(selection.dir)
  return {
    selection,
    entry,
    address,
    dataDir: entry?.data_dir ?? selection.dir,
    mark: own && mark,
    isOnly: isSession,
  }
}

const hasIdentity = (dir: string): boolean =>
  existsSync(join(dir, 'identity.kel')) || sayMoved(dir) !== undefined

function configuredAddress(dir: string): string {
  try {
    const config = JSON.parse(readRegular(join(dir, 'config.json')).toString('utf8')) as {
      control_addr?: unknown
    }
    if (typeof config.control_addr === 'string') return config.control_addr
  } catch {
    // no configuration yet: the default address is the honest guess
  }
  return CONTROL_ADDRESS_DEFAULT
}

export type Control = {
  readonly target: Target
  call<N extends OperationName>(
    name: N,
    body?: Call<Operations[N]>['body'],
    query?: Record<string, string>,
    options?: { signal?: AbortSignal },
  ): Promise<ReplyOf<Operations[N]>>
}

/** A client of the node that `input` means; calls throw {@link OperationRefused} or {@link CommandFailed}. */
export function connect(io: Io, whom: Whom): Control {
  const target = findTarget(io, whom)
  return {
    target,
    async call(name, body, query = {}, options = {}) {
      const { operations, advice } = await operationIndex()
      const { method, path, reads, timeoutMs } = operations[name]
      if (!reads) requireOwn(io, target)
      const search = new URLSearchParams(query).toString()
      const howFar = name === 'hubRegister' ? () => proofOfWork(io, whom) : undefined
      const answered = sayWhileWaiting(io, WAITS[name] ?? 'the node', howFar)
      try {
        const entrance = await findEntrance(io, target)
        const headers = { ...entrance.headers, 'Content-Type': 'application/json' }
        const answer = await exchange({
          method,
          address: target.address,
          socket: entrance.socket,
          path: search === '' ? path : `${path}?${search}`,
          headers,
          timeoutMs: timeoutMs ?? patience(name, body, query),
          ...present({ body: method === 'GET' ? undefined : JSON.stringify(body ?? {}) }),
          ...options,
        })
        return readAnswer(target, answer, advice) as never
      } catch (error) {
        throw explain(io, target, error)
      } finally {
        answered()
      }
    },
  }
}

/** How far the proof of work of a registration is, while there is one. */
async function proofOfWork(io: Io, whom: Whom): Promise<string | undefined> {
  const silent = Object.create(io, { onTerminal: { value: false } }) as Io
  const { pow_progress: share, pow_left_ms: left } = (await connect(silent, whom).call('status')).hub ?? {}
  if (share === undefined) return undefined
  const more = left === undefined ? '' : `, about ${Math.ceil(left / 1000)} s to go`
  return `proof of work, ${Math.round(share * 100)} % of what is expected${more}`
}

/** A node that was only found, because no other one runs, is read and never changed. */
function requireOwn(io: Io, { selection, entry }: Target): void {
  if (entry === undefined || entry.data_dir === selection.dir) return
  throw new CommandFailed(
    `there is no identity in ${selection.dir} yet, and the only node that runs is that of ${entry.data_dir}, of which nothing is changed unless it is named`,
    `${selectorOf(io, entry)} status\nto make an identity here, instead:\nsvc up`,
  )
}

/** How long an answer may take: as long as the call asked to wait, and a while. */
export function patience(name: OperationName, body: unknown, query: Record<string, string>): number {
  const { wait_s: waitSeconds = query['wait_s'] } = (body ?? {}) as { wait_s?: unknown }
  const base = SHORT.includes(name) ? SHORT_TIMEOUT_MS : TIMEOUT_MS
  return base + (Number(waitSeconds) || 0) * 1000
}

/** The reply of our own node, or its refusal as a sentence and the command that helps. */
function readAnswer(target: Target, answer: LoopbackReply, advice: Record<string, string>): unknown {
  let json: Record<string, unknown>
  try {
    json = JSON.parse(answer.text) as Record<string, unknown>
  } catch {
    throw new CommandFailed(`${target.address} answers, but is not a node of this release`, 'svc version')
  }
  if (answer.status === 200) return json
  const { reason, error, next } = json
  if (typeof reason !== 'string' || typeof error !== 'string') {
    throw new CommandFailed(
      `${target.address} answers ${answer.status}, but is not a node of this release`,
      'svc version',
    )
  }
  throw new OperationRefused(reason as ControlCode, error, typeof next === 'string' ? next : advice[reason])
}

/** How a node is asked: over its socket, or over its address with the token. */
export type Entrance = { socket: string | undefined; headers: Record<string, string> }

/**
 * The socket where there is one. Else the address, once the server there has proved that it knows the token: the port
 * of a stopped node is free for any user of this machine.
 */
export async function findEntrance(io: Io, target: Target): Promise<Entrance> {
  const socket = ownSocket(io.env, target.dataDir)
  if (socket !== undefined) return { socket, headers: {} }
  const token = readToken(io, target)
  const nonce = newNonce()
  const { address } = target
  const asked = {
    method: 'GET',
    address,
    path: `/ping?nonce=${nonce}`,
    headers: {},
    timeoutMs: PROOF_WAIT_MS,
  }
  const answer = await exchange(asked)
  const reply = isJson(answer.text) ? (JSON.parse(answer.text) as { proof?: unknown }) : {}
  if (reply?.proof !== proofOf(token, address, nonce)) throw unreachable(io, target, NOT_THE_NODE)
  return { socket: undefined, headers: { Authorization: `Bearer ${token}` } }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The bearer token of the node's data directory. */
function readToken(io: Io, target: Target): string {
  try {
    return readRegular(join(target.dataDir, 'control_token.txt')).toString('utf8').trim()
  } catch {
    throw unreachable(io, target)
  }
}

/** What went wrong on the way to a node, as commands and screens know it. */
export function explain(io: Io, target: Target, error: unknown): Error {
  if (error instanceof CommandFailed || error instanceof OperationRefused) return error
  const code = systemCode(error)
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'ENOENT')
    return unreachable(io, target, '', error)
  if (error instanceof NoAnswer)
    return target.entry === undefined ? unreachable(io, target, '', error) : new HungNode(target.entry)
  return new CommandFailed(messageOf(error), 'svc status', 1, error)
}

/** No daemon answers where one was expected. */
export class UnreachableNode extends CommandFailed {
  /** There is no such identity. */
  readonly isAbsent: boolean
  constructor(message: string, next: string, facts: { isAbsent?: true; cause?: unknown } = {}) {
    super(message, next, 1, facts.cause)
    this.isAbsent = facts.isAbsent === true
  }
}

/** The refusal when no daemon answers: address, data directory, and the nodes that do run. */
export function unreachable(io: Io, target: Target, why = '', cause?: unknown): UnreachableNode {
  const known = target.isOnly ? '' : sayOthers(io, target)
  const name = target.selection.name
  if (name !== undefined && name !== DEFAULT_IDENTITY && !existsSync(target.selection.dir))
    return new UnreachableNode(
      `there is no identity "${name}"${known}`,
      `svc id ls\nto make it, instead:\nsvc id new ${name}`,
      { isAbsent: true },
    )
  const moved = sayMoved(target.dataDir)
  if (moved !== undefined) return new UnreachableNode(`${moved}${known}`, MOVED_NEXT, { cause })
  return new UnreachableNode(`${sayAbsent(target)}${why}${known}`, startOf(io, target), { cause })
}

/** Other nodes of this user, one of which may have been meant. */
function sayOthers(io: Io, { dataDir }: Target): string {
  const others = daemonsOf(io.env).filter(entry => entry.data_dir !== dataDir)
  if (others.length === 0) return '; no other node of yours is running'
  const list = others.slice(0, NAMED_MAX).map(entry => `\n  ${selectorOf(io, entry)} status`)
  const more = others.length > list.length ? `\n  and ${others.length - list.length} more` : ''
  return `; if you meant another node of yours that runs:${list.join('')}${more}`
}

const sayAbsent = ({ address, dataDir }: Target): string =>
  existsSync(join(dataDir, 'identity.kel'))
    ? `no node answers at ${address} (data directory ${dataDir})`
    : `there is no identity in ${dataDir} yet`

/** The command that starts a node there, which makes an identity where there is none. */
function startOf(io: Io, { selection: { name }, dataDir }: Target): string {
  if (name === undefined) return `SVC_DATA_DIR=${shellWord(dataDir)} svc up`
  const isChosen = name === DEFAULT_IDENTITY && currentIdentity(io.env) === DEFAULT_IDENTITY
  return isChosen ? 'svc up' : `svc up ${name}`
}

/** What put before and behind `svc` means this node, whatever the environment of the reader says. */
function selectorOf(io: Io, { id, data_dir: dir }: DaemonEntry): string {
  if (id === null) return `SVC_DATA_DIR=${shellWord(dir)} svc`
  if (identityDirectory(io.env, id) === dir) return `svc --id ${id}`
  const home = id === DEFAULT_IDENTITY ? dir : dirname(dirname(dir))
  return `SVC_HOME=${shellWord(home)} svc --id ${id}`
}
