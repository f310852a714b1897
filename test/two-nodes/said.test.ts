/** What commands say beside their replies, of a node that has a hub: nothing twice, and what to do where a list is empty. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runIn } from '../../cli/testing.ts'
import type { Node } from '../../daemon/node.ts'
import { delegated, finished, type Lab, never, openPair } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
})
afterAll(() => lab.close())

const svc = (name: string, ...argv: string[]) =>
  runIn(lab.folder, argv, {
    SVC_DATA_DIR: join(lab.folder, name),
    SVC_RUNTIME_DIR: join(lab.folder, `run-${name}`),
  })

test('results name the command that lists other tasks, as long as none has ended', async () => {
  expect(await svc('alice', 'results')).toMatchObject({ code: 0, err: '' })
  const id = await delegated(alice, bob, 'count the words')
  const { err } = await svc('alice', 'results')
  expect(err).toMatch(
    /^svc: no task of yours has ended in agreement, and there are others \((?:open|delivered|queued)\)\n/,
  )
  expect(err).toMatch(/\ntry: svc results --all\n$/)
  expect((await svc('alice', 'results', '--all')).err).toBe('')
  await finished(alice, bob, id)
  expect((await svc('alice', 'results')).err).toBe('')
})

test('find says that names are not unique where two are equal', async () => {
  const equal = /^svc: names are not unique, and some of these are equal; the AID says who it is\n$/
  expect(await svc('alice', 'find')).toMatchObject({ code: 0, err: '' })
  const twin = await lab.member('twin')
  await twin.handlers.hubRegister({ url: lab.line.url, name: 'Bob' }, never)
  expect(await svc('alice', 'find')).toMatchObject({ code: 0, err: expect.stringMatching(equal) })
})

test('find says where it found nobody, and whose agents it looked through', async () => {
  const nobody = 'AWsi2Pqf59Kzi3iYZVthg8j0vdQ2GBhgkrg_hcEG5Mkg'
  const words = await svc('alice', 'find', 'no such words')
  expect(words).toMatchObject({
    code: 0,
    err: expect.stringMatching(/^svc: nobody found at your hub; search/),
  })
  const { out, err } = await svc('alice', 'find', nobody)
  expect(JSON.parse(out)).toEqual({ agents: [], searched: 'all_hubs' })
  expect(err).toMatch(/^svc: neither your hub nor a peer of it lists this AID; check it/)
  expect(await svc('alice', 'find', nobody, '--human')).toMatchObject({ err: '' })
})

test('a node that serves no capability is told where they come from', async () => {
  expect((await svc('alice', 'capability', 'ls')).err).toMatch(
    /^svc: this node serves no capability; .*"modules" in its config\.json.*svc stop && svc up\n$/,
  )
})

test('a warning is said once to people, and beside the reply of programs', async () => {
  const nobody = 'AWsi2Pqf59Kzi3iYZVthg8j0vdQ2GBhgkrg_hcEG5Mkg'
  const warned = /no contact or correspondent of yours has this AID/
  const human = await svc('alice', 'delegate', nobody, 'x', '--human')
  const said = `${human.out}${human.err}`.replace(/\s+/g, ' ')
  expect([human.code, said.split(warned).length - 1, said]).toEqual([0, 1, said])
  const program = await svc('alice', 'delegate', nobody, 'x')
  expect([program.out, program.err]).toEqual([expect.stringMatching(warned), expect.stringMatching(warned)])
})

test('a hub that does not answer is not left, which is said with what to do', async () => {
  const carol = await lab.member('carol')
  await lab.line.down()
  const { code, err } = await svc('carol', 'hub-leave')
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(
      /^svc: hub_unreachable: .*; this node stays registered there until the hub has heard it\nnext: once the hub answers:\ntry: svc hub-leave\n$/,
    ),
  ])
  expect((await carol.handlers.status(undefined, never)).hub_url).toBe(lab.line.url)
  await lab.line.up()
  expect((await svc('carol', 'hub-leave')).code).toBe(0)
})
