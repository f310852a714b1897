/** A hub seen through a gate that may answer in its place, nodes killed in the middle of an operation, for tests. */
import { spawn } from 'node:child_process'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Node } from '../daemon/node.ts'
import { fromBase64url } from '../protocol/encoding/bytes.ts'
import { decodeKel, type VerifiedKel, verifyKel } from '../protocol/identity/kel.ts'
import { decodePayload, type Kind, kinds } from '../protocol/mail/payload.ts'
import type { Lab } from './two-nodes-world.ts'

export type Answer = { status: number; headers?: Record<string, string>; body: object }
/** What the gate answers itself; undefined passes the request on. */
export type Intercept = (route: string) => Answer | undefined

export type Gate = AsyncDisposable & { url: string }

/** Stands before a hub and hands everything on, but what `intercept` answers. */
export async function openGate(to: () => string, intercept: Intercept): Promise<Gate> {
  const server = http.createServer((request, response) => {
    const answer = intercept(`${request.method} ${request.url}`)
    if (answer !== undefined) {
      request.resume()
      const headers = { 'X-Svc-Wire': '3', 'Content-Type': 'application/json', ...answer.headers }
      response.writeHead(answer.status, headers).end(JSON.stringify(answer.body))
      return
    }
    const target = new URL(request.url ?? '/', to())
    const onward = http.request(target, { method: request.method, headers: request.headers }, reply => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>(done => server.close(() => done()))
    },
  }
}

const SCRIPT = `
import { startNode } from ${JSON.stringify(join(import.meta.dirname, '..', 'daemon', 'node.ts'))}
const [dir, runtime, skew, operation, given] = process.argv.slice(1)
const node = await startNode({ dir, env: { SVC_RUNTIME_DIR: runtime }, now: () => Date.now() + Number(skew) })
await node.handlers[operation](JSON.parse(given), new AbortController().signal)
await node.stop()
`

/** Runs one operation of a stopped node in a process of its own that dies at a fault point; resolves with its signal. */
export async function killedAt(
  lab: Lab,
  name: string,
  fault: string,
  operation: string,
  given: object,
): Promise<NodeJS.Signals | null> {
  const skew = String(lab.hub.clock.now() - Date.now())
  const args = [
    join(lab.folder, name),
    join(lab.folder, `run-${name}`),
    skew,
    operation,
    JSON.stringify(given),
  ]
  const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, ...args], {
    env: { PATH: process.env['PATH'], SVC_FAULT: fault },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return new Promise(done => child.once('exit', (_code, signal) => done(signal)))
}

/** The log that a hub serves of an agent, as far as it knows one. */
export async function servedLog(url: string, aid: string): Promise<VerifiedKel | undefined> {
  const answer = await fetch(`${url}/agents/${aid}/kel`, { headers: { 'X-Svc-Wire': '3' } })
  if (!answer.ok) return undefined
  return verifyKel(decodeKel(fromBase64url(((await answer.json()) as { kel: string }).kel)))
}

/** Messages of a kind that wait in the outbox. */
export function waiting(node: Node, kind: Kind) {
  return node.ctx.store
    .all<{ payload: Uint8Array; recipient: string }>(
      'SELECT m.payload, m.recipient FROM outbox AS o JOIN messages AS m ON m.key = o.message WHERE m.kind = ?',
      kind,
    )
    .map(({ payload, recipient }) => ({ recipient, decoded: decodePayload(kind, payload) }))
}

/** Key states that the newest receipts of a node name, whether they wait or have left already. */
export const receiptSeqs = (node: Node): number[] =>
  node.ctx.store
    .all<{ payload: Uint8Array }>(
      `SELECT payload, max(key) FROM messages WHERE direction = 'out' AND kind = ? GROUP BY interaction`,
      kinds.receipt,
    )
    .flatMap(({ payload }) => {
      const decoded = decodePayload(kinds.receipt, payload)
      return decoded.kind === kinds.receipt ? [decoded.payload.receipt.body.providerKelSeq] : []
    })
