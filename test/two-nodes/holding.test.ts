/** A large file on its way to the hub: how far it is is told, and what is held back stays queued until it may leave. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import * as net from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import type { NodeEvent } from '../../daemon/platform/events.ts'
import { type Lab, never, openLab, thread, until } from './world.ts'

const MIB = 1024 * 1024
/** More than the buffers of a machine take in. */
const FILE_BYTES = 16 * MIB

/** A way to the hub that carries so many bytes of each connection up, and the rest once it is open. */
class Valve {
  readonly #server: net.Server
  readonly #waiting = new Set<net.Socket>()
  #isOpen = false
  readonly #carries: number

  constructor(to: string, carries: number) {
    this.#carries = carries
    this.#server = net.createServer(socket => {
      const out = net.connect(Number(new URL(to).port), '127.0.0.1')
      const end = () => {
        this.#waiting.delete(socket)
        socket.destroy()
        out.destroy()
      }
      for (const one of [socket, out]) one.on('error', end).on('close', end)
      let carried = 0
      socket.on('data', (chunk: Buffer) => {
        carried += chunk.length
        out.write(chunk)
        if (this.#isOpen || carried < this.#carries) return
        this.#waiting.add(socket)
        socket.pause()
      })
      out.pipe(socket)
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>(done => this.#server.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
  }

  open(): void {
    this.#isOpen = true
    for (const socket of this.#waiting) socket.resume()
  }

  close(): void {
    this.#server.close()
  }
}

let lab: Lab
let alice: Node
let bob: Node
let valve: Valve
let id: string
const told: NodeEvent['data'][] = []

beforeAll(async () => {
  lab = await openLab()
  valve = new Valve(lab.hub.url, MIB / 4)
  alice = await lab.start('alice')
  await lab.hub.running.hub.context.store.admit(alice.aid, true)
  await alice.handlers.hubRegister({ url: await valve.listen(), name: 'alice' }, never)
  bob = await lab.member('bob')
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  id = (await alice.handlers.delegate({ to: bob.aid, task: 'a file follows' }, never)).interaction_id
  await until('bob has the task', async () => (await bob.handlers.inbox({}, never)).items.length > 0)
  // with it alice gets the right to send what is large
  await bob.handlers.message({ interaction_id: id, text: 'go ahead' }, never)
  await until('alice may', async () => (await textsAt(alice)).includes('go ahead'))
  alice.ctx.events.listen(event => {
    if (event.type === 'transfer') told.push(event.data)
  })
})
afterAll(async () => {
  await lab.close()
  valve.close()
})

const deliveryOf = async (node: Node) =>
  (await node.handlers.interactions({ interaction_ids: [id] }, never)).items[0]?.delivery
const textsAt = async (node: Node) => (await thread(node, id)).turns.map(turn => turn.text)

test('what has left already is not held back', async () => {
  await until('it has left', async () => (await deliveryOf(alice))?.state !== 'queued')
  await expect(alice.handlers.sending({ interaction_id: id, on: false }, never)).rejects.toMatchObject({
    code: 'wrong_state',
    message: 'nothing of this task waits on this machine: all of it has left',
  })
})

test('a large message tells how far it is while it leaves', async () => {
  const file = join(lab.folder, 'large.bin')
  writeFileSync(file, randomBytes(FILE_BYTES))
  await alice.handlers.message({ interaction_id: id, text: 'here it is', attach: [file] }, never)
  await until('it is on its way', () => told.some(data => Number(data['sent']) >= MIB))
  const last = told.at(-1) as { interaction_id: string; sent: number; total: number }
  expect(last.interaction_id).toBe(id)
  expect(last.total).toBeGreaterThan(FILE_BYTES)
  expect(last.sent).toBeLessThan(last.total)
})

test('what is held back stops on its way, and stays queued with what was written after it', async () => {
  expect(await alice.handlers.sending({ interaction_id: id, on: false }, never)).toEqual({
    interaction_id: id,
    held: true,
    queued: 1,
  })
  await until('it has stopped', () => told.at(-1)?.['over'] === true)
  await alice.handlers.message({ interaction_id: id, text: 'and a word' }, never)
  expect(await deliveryOf(alice)).toMatchObject({ state: 'queued', held: true })
  expect((await deliveryOf(alice))?.next_try_at).toBeUndefined()
  // also one that nobody told to wait goes out, while this one does not
  const other = (await alice.handlers.delegate({ to: bob.aid, task: 'another task' }, never)).interaction_id
  await until('the other task arrives', async () =>
    (await bob.handlers.inbox({}, never)).items.some(item => item.interaction_id === other),
  )
  expect(await textsAt(bob)).toEqual(['a file follows', 'go ahead'])
})

test('what was held back is held over a restart, and leaves in its order once it may', async () => {
  await alice.stop()
  alice = await lab.start('alice')
  alice.ctx.events.listen(event => {
    if (event.type === 'transfer') told.push(event.data)
  })
  expect(await deliveryOf(alice)).toMatchObject({ state: 'queued', held: true })
  valve.open()
  expect(await alice.handlers.sending({ interaction_id: id, on: true }, never)).toMatchObject({ held: false })
  await until('bob has all of it', async () => (await textsAt(bob)).length === 4)
  expect(await textsAt(bob)).toEqual(['a file follows', 'go ahead', 'here it is', 'and a word'])
  await until('its way is over', () => told.at(-1)?.['over'] === true)
})
