/**
 * The operator's way into a running hub: a socket of mode 0600 in the data directory, one JSON order a connection.
 * Whoever may open the directory may give orders; nobody else can reach it.
 */
import { chmodSync, closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { KEL_BYTES_MAX } from '../../protocol/identity/kel.ts'
import { StoreRefused } from '../store/port.ts'
import { type OperatorContext, type Order, orderShape } from './order-shapes.ts'
import { carryOut } from './orders.ts'

const SOCKET_FILE = 'operator.sock'
/** Longer paths do not fit into a socket address; on Linux they are reached through an open folder. */
const SOCKET_PATH_BYTES_MAX = 100
/** A whole key history of another hub, as base64url, and what stands beside it. */
const ORDER_BYTES_MAX = 16 * 1024 + Math.ceil((KEL_BYTES_MAX * 4) / 3)
/** A page of a listing; whoever holds the socket is the hub of this directory. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024
const ANSWER_MS = 10_000

const SHUT_OUT =
  'this user may not give orders to the hub that runs there: permission denied; run svc-hub as the user that it runs as'
const NO_ANSWER =
  'the hub that runs there gave no answer, so nobody knows whether it did that; repeat the command, and where that does not help: svc-hub doctor'

export type OperatorReply = { ok: true; result: Record<string, unknown> } | { ok: false; error: string }

/** Listens for orders until closed. */
export async function listenForOperator(
  directory: string,
  context: OperatorContext,
): Promise<{ close(): void }> {
  const path = join(directory, SOCKET_FILE)
  // The directory is locked by this process, so a socket that lies there is a dead one.
  if (existsSync(path)) rmSync(path)
  const server = createServer({ allowHalfOpen: true }, socket => void serve(socket, context))
  const reached = reach(directory)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(reached.path, resolve)
  })
  chmodSync(path, 0o600)
  server.unref()
  return {
    close() {
      server.close()
      reached.close()
    },
  }
}

async function serve(socket: Socket, context: OperatorContext): Promise<void> {
  socket.setTimeout(ANSWER_MS, () => socket.destroy())
  socket.on('error', () => socket.destroy())
  try {
    const order = orderShape.safeParse(parseJson(await readAll(socket, ORDER_BYTES_MAX)))
    if (!order.success) throw new StoreRefused('this release does not know that order')
    answer(socket, { ok: true, result: await carryOut(order.data, context) })
  } catch (error) {
    answer(socket, { ok: false, error: wordsOf(error) })
  }
}

function answer(socket: Socket, given: OperatorReply): void {
  socket.end(JSON.stringify(given))
}

/** Whether a hub runs on a data directory, or one that ran there was killed. */
export function hasSocket(directory: string): boolean {
  return existsSync(join(directory, SOCKET_FILE))
}

/** Gives an order to the hub that runs on a data directory; undefined when none does. */
export async function orderRunningHub(directory: string, order: Order): Promise<OperatorReply | undefined> {
  if (!hasSocket(directory)) return undefined
  const reached = reach(directory)
  try {
    const socket = await open(reached.path)
    if (socket === undefined) return undefined
    socket.setTimeout(ANSWER_MS, () => socket.destroy())
    socket.end(JSON.stringify(order))
    return await replyOn(socket)
  } finally {
    reached.close()
  }
}

/** A hub that hangs or dies meanwhile leaves no answer, or a part of one. */
async function replyOn(socket: Socket): Promise<OperatorReply> {
  try {
    return JSON.parse(Buffer.from(await readAll(socket, ANSWER_BYTES_MAX)).toString()) as OperatorReply
  } catch (error) {
    throw error instanceof StoreRefused ? error : new StoreRefused(NO_ANSWER, { cause: error })
  }
}

function open(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', error => {
      const code = systemCode(error) ?? ''
      if (['ECONNREFUSED', 'ENOENT'].includes(code)) resolve(undefined)
      else if (code === 'EACCES') reject(new StoreRefused(SHUT_OUT))
      else reject(error)
    })
  })
}

async function readAll(socket: Socket, bytesMax: number): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length
    if (length > bytesMax) throw new StoreRefused('an order or its answer is too long')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

function reach(directory: string): { path: string; close(): void } {
  const path = join(directory, SOCKET_FILE)
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX || process.platform !== 'linux')
    return { path, close: () => undefined }
  const folder = openSync(directory, 'r')
  return { path: `/proc/self/fd/${folder}/${SOCKET_FILE}`, close: () => closeSync(folder) }
}
