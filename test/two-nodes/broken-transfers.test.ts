/** Large files over connections that break in the middle, on the way up and on the way down. */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import * as net from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { type Lab, never, openLab, thread, until } from './world.ts'

const MIB = 1024 * 1024
const FILE_BYTES = 12 * MIB

/** A way to the hub that breaks once a connection has carried so many bytes, once for each entry of the list. */
class BreakingLine {
  readonly breaks: number[] = []
  #direction: 'up' | 'down'
  #server: net.Server
  broken = 0

  constructor(direction: 'up' | 'down', to: string) {
    this.#direction = direction
    this.#server = net.createServer(socket => {
      const out = net.connect(Number(new URL(to).port), '127.0.0.1')
      const end = () => {
        socket.destroy()
        out.destroy()
      }
      for (const one of [socket, out]) one.on('error', end).on('close', end)
      const watched = this.#direction === 'up' ? socket : out
      let carried = 0
      watched.on('data', (chunk: Buffer) => {
        carried += chunk.length
        if (this.breaks[0] === undefined || carried < this.breaks[0]) return
        this.breaks.shift()
        this.broken += 1
        end()
      })
      socket.pipe(out)
      out.pipe(socket)
    })
  }

  async open(): Promise<string> {
    await new Promise<void>(done => this.#server.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
  }
}

let lab: Lab
let alice: Node
let bob: Node
let up: BreakingLine
let down: BreakingLine
let id: string

beforeAll(async () => {
  lab = await openLab()
  up = new BreakingLine('up', lab.hub.url)
  down = new BreakingLine('down', lab.hub.url)
  alice = await joined('alice', await up.open())
  bob = await joined('bob', await down.open())
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  id = (await alice.handlers.delegate({ to: bob.aid, task: 'files follow' }, never)).interaction_id
  await until('bob has the task', async () => (await bob.handlers.inbox({}, never)).items.length > 0)
})
afterAll(async () => {
  await lab.close()
  up.close()
  down.close()
})

async function joined(name: string, url: string): Promise<Node> {
  const node = await lab.start(name)
  await lab.hub.running.hub.context.store.admit(node.aid, true)
  await node.handlers.hubRegister({ url, name }, never)
  return node
}

const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
const filesOf = async (node: Node) =>
  (await thread(node, id)).turns.flatMap(turn => turn.attachments).filter(file => file.path !== null)

async function sent(name: string): Promise<string> {
  const path = join(lab.folder, name)
  writeFileSync(path, randomBytes(FILE_BYTES))
  await alice.handlers.message({ interaction_id: id, text: name, attach: [path] }, never)
  return path
}
async function arrived(name: string, path: string): Promise<void> {
  await until(`${name} arrives`, async () => (await filesOf(bob)).some(file => file.name === name))
  const file = (await filesOf(bob)).filter(one => one.name === name)
  expect(file).toHaveLength(1)
  expect(digest(file[0]?.path ?? '')).toBe(digest(path))
}
/** What is on its way in and out, below a data directory. */
const unfinished = (name: string) =>
  readdirSync(join(lab.folder, name), { recursive: true, encoding: 'utf8' }).filter(path =>
    /incoming-/.test(path),
  )

test('an upload whose connection breaks again and again arrives whole by itself, once, and leaves nothing half', async () => {
  up.breaks.push(MIB, 5 * MIB, 10 * MIB)
  const path = await sent('up.bin')
  await arrived('up.bin', path)
  expect(up.broken).toBe(3)
  expect(unfinished('alice')).toEqual([])
})

test('so does a download', async () => {
  down.breaks.push(2 * MIB, 7 * MIB, 13 * MIB)
  const path = await sent('down.bin')
  await arrived('down.bin', path)
  expect(down.broken).toBe(3)
  await until('nothing half is left', () => unfinished('bob').length === 0)
})

test('pull names each file, and says which of them was there already', async () => {
  const out = join(lab.folder, 'pulled')
  const pull = async () => (await bob.handlers.pull({ interaction_id: id, out }, never)).files
  const first = await pull()
  expect(first.map(file => [file.name, file.already_there])).toEqual([
    ['up.bin', undefined],
    ['down.bin', undefined],
    ['request.json', undefined],
  ])
  const times = readdirSync(out).map(name => statSync(join(out, name)).mtimeMs)
  expect((await pull()).map(file => [file.path, file.already_there])).toEqual(
    first.map(file => [file.path, true]),
  )
  expect(readdirSync(out).map(name => statSync(join(out, name)).mtimeMs)).toEqual(times)
})
