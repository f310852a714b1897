/** An older copy of a data directory, put back in the place of the newer one. */
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptCopy } from '../../daemon/chain/accept.ts'
import type { Node } from '../../daemon/node.ts'
import { systemRandom } from '../../daemon/platform/random.ts'
import { headers as names } from '../../protocol/wire3/headers.ts'
import { delegated, finished, type Lab, never, openPair, until } from './world.ts'

const OUTSIDE = { now: Date.now, random: systemRandom }
const DAY_MS = 86_400_000
let lab: Lab
let bob: Node

beforeAll(async () => {
  ;({ lab, bob } = await openPair())
})
afterAll(() => lab.close())

const dirOf = (name: string) => join(lab.folder, name)
const status = (node: Node) => node.handlers.status(undefined, never)
const delegate = (node: Node) => node.handlers.delegate({ to: bob.aid, task: 'count' }, never)
const chainFile = (name: string) => readFileSync(join(dirOf(name), 'evidence.ael.jsonl'), 'utf8')
/** The machine that had the newer copy is another one. */
const forgetMachine = (name: string) => rmSync(join(lab.folder, `run-${name}`), { recursive: true })

/** A stopped node whose directory is a copy from before `work`. */
async function putBack(name: string, work: (node: Node) => Promise<void>, url = lab.line.url): Promise<void> {
  const first = await lab.member(name)
  await first.handlers.hubRegister({ url }, never)
  await first.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  const auto_reply = { backend: 'exec', command: process.execPath, tools: 'read' } as const
  first.ctx.settings.change({ auto_reply })
  await delegate(first)
  await first.stop()
  cpSync(dirOf(name), dirOf(`${name}-backup`), { recursive: true })
  const newer = await lab.start(name)
  await work(newer)
  await newer.stop()
  rmSync(dirOf(name), { recursive: true })
  cpSync(dirOf(`${name}-backup`), dirOf(name), { recursive: true })
}

/** A way to the hub that notes which requests are signed. */
async function openWatch(): Promise<{ url: string; asked: string[]; server: Server }> {
  const asked: string[] = []
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    asked.push(`${headers[names.signature.toLowerCase()] === undefined ? '' : 'signed '}${method} ${url}`)
    const onward = request(new URL(url, lab.hub.url), { method, headers }, answer => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server }
}

describe('an older copy of a data directory', () => {
  test('is known by the chain that this machine has seen, also without the hub, and signs no record', async () => {
    await putBack('olga', async newer => void (await delegate(newer)))
    const before = chainFile('olga')
    await lab.line.down()
    const old = await lab.start('olga')
    await expect(delegate(old)).rejects.toMatchObject({ code: 'old_copy' })
    await expect(old.handlers.balance({}, never)).rejects.toMatchObject({ code: 'old_copy' })
    expect((await status(old)).hub).toMatchObject({
      state: 'stopped',
      reason: expect.stringContaining('it is an old copy'),
    })
    expect((await status(old)).warnings.join()).toMatch(
      /had reached record \d+ on this machine and this directory ends at record/,
    )
    await old.stop()
    expect(chainFile('olga')).toBe(before)
    await lab.line.up()
    acceptCopy(dirOf('olga'), { SVC_RUNTIME_DIR: join(lab.folder, 'run-olga') }, OUTSIDE)
    const accepted = await lab.start('olga')
    await delegate(accepted)
    expect(accepted.ctx.hub.oldCopy).toBeUndefined()
    await accepted.stop()
  })

  test('with as many records, but others, is known as well', async () => {
    await putBack('otto', async newer => void (await delegate(newer)))
    // The copy goes on elsewhere and comes back here.
    cpSync(join(lab.folder, 'run-otto'), dirOf('run-otto-kept'), { recursive: true })
    forgetMachine('otto')
    const elsewhere = await lab.start('otto')
    await until('nobody else is at the hub', () => elsewhere.ctx.hub.unsettled === undefined)
    await delegate(elsewhere)
    await delegate(elsewhere)
    await elsewhere.stop()
    forgetMachine('otto')
    cpSync(dirOf('run-otto-kept'), join(lab.folder, 'run-otto'), { recursive: true })
    const back = await lab.start('otto')
    await expect(delegate(back)).rejects.toThrow(/holds another record there/)
    await back.stop()
  })

  test('is known by the key set at the hub, which is asked before anything is signed', async () => {
    const watch = await openWatch()
    await putBack(
      'opal',
      async newer => {
        const { set } = newer.ctx.keys
        lab.hub.clock.advance(8 * DAY_MS)
        newer.wake()
        await until(
          'the hub holds the next set',
          () => newer.ctx.keys.set !== set && newer.ctx.keys.isConfirmed,
        )
      },
      watch.url,
    )
    forgetMachine('opal')
    const before = chainFile('opal')
    watch.asked.length = 0
    const old = await lab.start('opal')
    await expect(delegate(old)).rejects.toMatchObject({
      code: 'old_copy',
      message: expect.stringMatching(/the hub holds key set 2 .* this machine 1/),
    })
    old.wake()
    await old.stop()
    expect(watch.asked.length).toBeGreaterThan(0)
    expect(watch.asked.filter(line => line.startsWith('signed'))).toEqual([])
    expect(chainFile('opal')).toBe(before)
    acceptCopy(dirOf('opal'), { SVC_RUNTIME_DIR: join(lab.folder, 'run-opal') }, OUTSIDE)
    const accepted = await lab.start('opal')
    await until(
      'a set above that one is there',
      () => accepted.ctx.keys.isConfirmed && accepted.ctx.keys.set?.body.setSeq === 3,
    )
    await accepted.stop()
    watch.server.closeAllConnections()
    watch.server.close()
  })

  test('is known by the head of its chain that a contact holds and gives back, also at the next start', async () => {
    await putBack('oriel', async newer => {
      await bob.handlers.contactAdd({ aid: newer.aid, petname: 'oriel' }, never)
      await finished(newer, bob, await delegated(newer, bob, 'count'))
    })
    forgetMachine('oriel')
    lab.hub.clock.advance(DAY_MS)
    const old = await lab.start('oriel')
    expect(old.ctx.hub.oldCopy).toBeUndefined()
    await bob.handlers.delegate({ to: old.aid, task: 'are you there?' }, never)
    await until('the head came back', () => old.ctx.hub.oldCopy !== undefined)
    const before = chainFile('oriel')
    const refused = {
      code: 'old_copy',
      message: expect.stringMatching(/^bob holds this identity's signature/),
    }
    await expect(delegate(old)).rejects.toMatchObject(refused)
    await old.stop()
    forgetMachine('oriel')
    const again = await lab.start('oriel')
    await expect(delegate(again)).rejects.toMatchObject(refused)
    await again.stop()
    expect(chainFile('oriel')).toBe(before)
    acceptCopy(dirOf('oriel'), { SVC_RUNTIME_DIR: join(lab.folder, 'run-oriel') }, OUTSIDE)
    const accepted = await lab.start('oriel')
    await delegate(accepted)
    await accepted.stop()
  })

  test('cannot be told apart while the hub is away: the node goes on, and says so until it was asked', async () => {
    const node = await lab.member('oona')
    await node.stop()
    await lab.line.down()
    const again = await lab.start('oona')
    const warned = async () =>
      (await status(again)).warnings.some(one => one.includes('could not be asked whether'))
    expect(await warned()).toBe(true)
    await again.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
    await delegate(again)
    await lab.line.up()
    again.wake()
    await until('it was asked', async () => !(await warned()))
    await again.stop()
  })
})
