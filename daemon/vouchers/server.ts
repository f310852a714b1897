/** The address at which vouchers are taken: one route, for anybody. */
import type * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'
import { DOCUMENT_BYTES_MAX } from '../../protocol/contract/limits.ts'
import { concat, Malformed } from '../../protocol/encoding/bytes.ts'
import { type JsonValue, parseJson } from '../../protocol/encoding/json.ts'
import { isPlainLine } from '../../protocol/encoding/plain-text.ts'
import { BOUGHT_BYTES_MAX, VOUCHER_BYTES_MAX } from '../../protocol/proof/voucher.ts'
import type { CrowdParts } from '../control/crowd.ts'
import { boundedServer, closed, listening } from '../control/http.ts'
import { addressOf } from '../home/config.ts'
import { type GateCode, GateRefused, type VoucherGate } from './gate.ts'

const REQUEST_TIMEOUT_MS = 30_000
const BODY_BYTES_MAX = DOCUMENT_BYTES_MAX + 8 * 1024
const BODIES_MAX = 64
/** Base64 is a third longer. */
const VOUCHER_CHARACTERS_MAX = Math.ceil(VOUCHER_BYTES_MAX / 3) * 4
const STATUS: Readonly<Record<GateCode, number>> = {
  malformed: 400,
  forged: 403,
  not_for_this: 403,
  other_arguments: 403,
  expired: 403,
  not_served: 404,
  redeemed: 409,
  busy: 503,
  closed: 503,
}

const Request = z.object({
  voucher: z.string().min(1).max(VOUCHER_CHARACTERS_MAX),
  capability: z.string().min(1).max(BOUGHT_BYTES_MAX).refine(isPlainLine),
  args: z
    .record(
      z.string(),
      z.custom<JsonValue>(() => true),
    )
    .default({}),
})

export type GateAddress = { listen: string; url: string }

export class GateServer {
  readonly #gate: VoucherGate
  readonly #machine: CrowdParts
  readonly #address: GateAddress
  readonly #server: http.Server
  readonly #closing = new AbortController()
  #bodies = 0

  constructor(gate: VoucherGate, machine: CrowdParts, address: GateAddress) {
    this.#gate = gate
    this.#machine = machine
    this.#address = address
    const serve: http.RequestListener = (request, response) => void this.#handle(request, response)
    this.#server = boundedServer(machine, { requestTimeout: REQUEST_TIMEOUT_MS }, serve)
  }

  /** Where it listens. */
  get bound(): string {
    const { address, port } = this.#server.address() as AddressInfo
    return `${address.includes(':') ? `[${address}]` : address}:${port}`
  }

  async start(): Promise<void> {
    const { host, port } = endpoint(this.#address.listen)
    await listening(this.#server, () => this.#server.listen(port, host))
  }

  async stop(): Promise<void> {
    this.#closing.abort()
    await closed(this.#server, this.#machine.timers)
  }

  async #handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      if (new URL(request.url ?? '/', 'http://gate').pathname !== new URL(this.#address.url).pathname)
        return answer(response, 404, { error: 'vouchers are taken at another path' })
      if (request.method !== 'POST') return answer(response, 405, { error: 'a voucher is shown with POST' })
      const shown = await this.#read(request)
      const effect = await this.#gate.redeem(shown, this.#closing.signal)
      response.writeHead(200, HEADERS).end(effect)
    } catch (error) {
      if (!(error instanceof GateRefused)) {
        this.#machine.log.error({ err: error }, 'the gate for vouchers failed')
        return answer(response, 500, { error: 'this agent failed' })
      }
      answer(response, STATUS[error.code], { error: error.message, reason: error.code })
    }
  }

  /** So many bodies at once, each as long as a call may be. */
  async #read(request: http.IncomingMessage) {
    if (this.#bodies >= BODIES_MAX)
      throw new GateRefused('busy', 'too many ask now; the voucher is good still')
    this.#bodies += 1
    try {
      const parsed = Request.safeParse(parseJson(await bytesOf(request)))
      if (!parsed.success) throw new GateRefused('malformed', 'expected voucher, capability and args')
      return parsed.data
    } catch (error) {
      if (error instanceof Malformed) throw new GateRefused('malformed', error.message)
      throw error
    } finally {
      this.#bodies -= 1
    }
  }
}

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

function answer(response: http.ServerResponse, status: number, body: object): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { ...HEADERS, Connection: 'close' }).end(JSON.stringify(body))
}

async function bytesOf(request: http.IncomingMessage): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of request as AsyncIterable<Uint8Array>) {
    length += part.length
    if (length > BODY_BYTES_MAX)
      throw new GateRefused('malformed', `a call has ${BODY_BYTES_MAX} bytes at most`)
    parts.push(part)
  }
  return concat(...parts)
}

function endpoint(address: string): { host: string; port: number } {
  const [host = '127.0.0.1', port = '0'] = addressOf(address)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}
