/**
 * For tests: a small witness of transparency logs over HTTP, written from the texts of C2SP tlog-witness, tlog-cosignature
 * and signed-note and from RFC 9162 §2.1.4.2 alone, with nothing of the hub's own code.
 */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

const hash = (...parts: Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest()
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')
const keyOf = (raw: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI_HEAD, raw]), format: 'der', type: 'spki' })
const node = (left: Buffer, right: Buffer): Buffer => hash(Uint8Array.of(1), left, right)

type Tree = { size: number; root: Buffer }
type Answer = { status: number; text: string; type?: string }

export type LogWitness = {
  url: string
  name: string
  /** As the format of signed notes writes it. */
  verifierKey: string
  /** Bodies that it was sent. */
  asked: string[]
  /** The tree that it cosigned last. */
  latest: Tree | undefined
  /** Answers in its place, while there is one. */
  instead: Answer | undefined
  /** Whether a line of a note is its cosignature over the text before the blank line. */
  signed(note: string): boolean
  /** Its line over a text, whatever that says. */
  cosign(text: string): string
  close(): Promise<void>
}

/** A witness that knows one log, by its origin and its Ed25519 key. */
export async function startLogWitness(
  origin: string,
  logKey: Uint8Array,
  name = 'witness.example/w1',
): Promise<LogWitness> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD.length)
  const typed = Buffer.concat([Uint8Array.of(4), raw])
  const keyHash = hash(Buffer.from(`${name}\n`), typed).subarray(0, 4)
  const cosign = (text: string): string => {
    const seconds = BigInt(Math.floor(Date.now() / 1000))
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(seconds)
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), privateKey)
    return `— ${name} ${Buffer.concat([keyHash, time, signature]).toString('base64')}\n`
  }
  const server = createServer((request, response) => {
    void bodyOf(request).then(body => {
      witness.asked.push(body)
      const { status, text, type = 'text/plain' } = witness.instead ?? answer(body)
      response.writeHead(status, { 'Content-Type': type }).end(text)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  const answer = (body: string): Answer => {
    const offer = offerIn(body)
    if (offer === undefined) return { status: 400, text: '' }
    const { old, proof, note, text, tree } = offer
    if (offer.origin !== origin) return { status: 404, text: '' }
    if (!note.split('\n').some(line => isSignedByLog(line, text))) return { status: 403, text: '' }
    if (old > tree.size) return { status: 400, text: '' }
    const before = witness.latest ?? { size: 0, root: Buffer.alloc(0) }
    const isOther = old === tree.size && !before.root.equals(tree.root)
    if (old !== before.size || isOther)
      return { status: 409, text: `${before.size}\n`, type: 'text/x.tlog.size' }
    if (!isConsistent(before, tree, proof)) return { status: 422, text: '' }
    witness.latest = tree
    return { status: 200, text: cosign(text) }
  }
  const isSignedByLog = signedBy(origin, logKey)
  const witness: LogWitness = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/w1`,
    name,
    verifierKey: `${name}+${keyHash.toString('hex')}+${typed.toString('base64')}`,
    asked: [],
    latest: undefined,
    instead: undefined,
    cosign,
    signed(note) {
      const text = note.slice(0, note.indexOf('\n\n') + 1)
      return note.split('\n').some(line => {
        const [dash, by, encoded = ''] = line.split(' ')
        const bytes = Buffer.from(encoded, 'base64')
        if (dash !== '—' || by !== name || bytes.length !== 76) return false
        const message = `cosignature/v1\ntime ${bytes.readBigUInt64BE(4)}\n${text}`
        return verify(null, Buffer.from(message), publicKey, bytes.subarray(12))
      })
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return witness
}

/** Whether a line of a note is the signature of a log over a text. */
const signedBy =
  (origin: string, logKey: Uint8Array) =>
  (line: string, text: string): boolean => {
    const [dash, by, encoded = ''] = line.split(' ')
    const bytes = Buffer.from(encoded, 'base64')
    const expected = hash(Buffer.from(`${origin}\n`), Uint8Array.of(1), logKey).subarray(0, 4)
    if (dash !== '—' || by !== origin || !bytes.subarray(0, 4).equals(expected)) return false
    return verify(null, Buffer.from(text), keyOf(logKey), bytes.subarray(4))
  }

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** The parts of a request; undefined where it has not their form. */
function offerIn(body: string) {
  const [head = '', ...rest] = body.split('\n\n')
  const note = rest.join('\n\n')
  const [oldLine = '', ...proofLines] = head.split('\n')
  const digits = /^old (0|[1-9][0-9]*)$/.exec(oldLine)?.[1]
  if (digits === undefined || proofLines.length > 63) return undefined
  const text = note.slice(0, note.indexOf('\n\n') + 1)
  const [origin, size, root = ''] = text.split('\n')
  const tree = { size: Number(size), root: Buffer.from(root, 'base64') }
  const proof = proofLines.map(line => Buffer.from(line, 'base64'))
  return { old: Number(digits), proof, note, text, origin, tree }
}

function isConsistent(first: Tree, second: Tree, given: readonly Buffer[]): boolean {
  if (first.size === 0 || first.size === second.size)
    return given.length === 0 && (first.size === 0 || first.root.equals(second.root))
  const isPower = (first.size & (first.size - 1)) === 0
  const path = isPower ? [first.root, ...given] : [...given]
  return given.length > 0 && walks(first, second, path)
}

/** RFC 9162 §2.1.4.2, step by step. */
function walks(first: Tree, second: Tree, [start, ...path]: Buffer[]): boolean {
  let [fn, sn] = [first.size - 1, second.size - 1]
  while (fn % 2 === 1) [fn, sn] = [fn >> 1, sn >> 1]
  let [fr, sr] = [start as Buffer, start as Buffer]
  for (const c of path) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      ;[fr, sr] = [node(c, fr), node(c, sr)]
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn >> 1, sn >> 1]
    } else sr = node(sr, c)
    ;[fn, sn] = [fn >> 1, sn >> 1]
  }
  return fr.equals(first.root) && sr.equals(second.root) && sn === 0
}
