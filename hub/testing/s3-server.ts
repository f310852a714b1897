/** For tests: an S3 server of their own, and a way to it that fails as stores do. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import {
  request as ask,
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer as listenAnywhere } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { refusedAs } from './s3-signature.ts'

const PACKAGE = createRequire(import.meta.url).resolve('s3rver/package.json')
const PROGRAM = join(dirname(PACKAGE), 'bin', 's3rver.js')
/** It signs the places in its listings with a cipher that is off by default. */
const RUNTIME = '--openssl-legacy-provider'
const LOOK_MS = 50
const LATE_MS = 700

export const BUCKET = 'mail'
/** Those that it knows. */
export const S3_CREDENTIALS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }

/** What becomes of the calls that a test names. */
export type S3Fault = {
  /** `PUT`, `GET /mail/…?uploadId=` and the like: the beginning of method and target. */
  calls: RegExp
  times: number
  /** It fails, says nothing, is answered late, is cut in the middle of its answer, or is done and its answer lost. */
  way: 'fails' | 'silent' | 'late' | 'half' | 'lost'
}

export class S3Server {
  readonly #folder: string
  readonly #child: ChildProcess
  readonly #port: number
  readonly #proxy: Server
  #fault: S3Fault | undefined
  /** Methods and targets of what was asked. */
  readonly asked: string[] = []

  private constructor(folder: string, child: ChildProcess, port: number) {
    this.#folder = folder
    this.#child = child
    this.#port = port
    this.#proxy = createServer((request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<S3Server> {
    const folder = mkdtempSync(join(tmpdir(), 's3-'))
    const port = await freePort()
    const given = ['-d', folder, '-a', '127.0.0.1', '-p', String(port), '-s', '--configure-bucket', BUCKET]
    const child = spawn(process.execPath, [RUNTIME, PROGRAM, ...given], { stdio: 'ignore' })
    const server = new S3Server(folder, child, port)
    server.#proxy.listen(0, '127.0.0.1')
    await once(server.#proxy, 'listening')
    while (
      child.exitCode === null &&
      !(await fetch(`http://127.0.0.1:${port}`).then(
        () => true,
        () => false,
      ))
    )
      await pause(LOOK_MS)
    if (child.exitCode !== null) throw new Error('the S3 server did not start')
    return server
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#proxy.address() as AddressInfo).port}`
  }

  /** From now on, until it has happened so often. */
  fault(fault: S3Fault | undefined): void {
    this.#fault = fault
  }

  #due(request: IncomingMessage): S3Fault['way'] | undefined {
    const fault = this.#fault
    if (fault === undefined || fault.times === 0) return undefined
    if (!fault.calls.test(`${request.method} ${request.url}`)) return undefined
    fault.times -= 1
    return fault.way
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: target = '', headers } = request
    this.asked.push(`${method} ${target}`)
    const way = this.#due(request)
    const body = await bodyOf(request)
    if (way === 'silent') return
    if (way === 'late') await pause(LATE_MS)
    if (way === 'fails') return refuse(response, 500, 'InternalError')
    // the server looks at no signature
    const code = refusedAs({ method, target, headers, body }, S3_CREDENTIALS)
    if (code !== undefined) return refuse(response, 403, code)
    const onward = ask({ host: '127.0.0.1', port: this.#port, method, path: target, headers }, answer =>
      passOn(answer, response, way),
    )
    onward.on('error', () => response.destroy())
    onward.end(body)
  }

  async stop(): Promise<void> {
    this.#proxy.closeAllConnections()
    this.#proxy.close()
    const ended = once(this.#child, 'exit')
    if (this.#child.exitCode === null && this.#child.kill('SIGTERM')) await ended
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(`<Error><Code>${code}</Code></Error>`)
}

function passOn(answer: IncomingMessage, response: ServerResponse, way: S3Fault['way'] | undefined): void {
  if (way === 'lost') {
    answer.resume()
    answer.on('end', () => response.destroy())
    return
  }
  response.writeHead(answer.statusCode ?? 500, answer.headers)
  if (way !== 'half') {
    answer.pipe(response)
    return
  }
  // one without a body has no half
  answer.once('end', () => response.destroy())
  answer.once('data', (piece: Buffer) => {
    response.write(piece.subarray(0, piece.length / 2), () => response.destroy())
    answer.destroy()
  })
}

async function freePort(): Promise<number> {
  const server = listenAnywhere().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
