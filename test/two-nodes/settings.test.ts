/** Settings of a node and what they change for the hub, for others and on this machine. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { startNode } from '../../daemon/node.ts'
import { callRoute } from '../../hub/testing/hub.ts'
import { operations } from '../../protocol/control/operations.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import { type Lab, never, openLab } from './world.ts'

const MIB = 1024 * 1024
let lab: Lab

beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

describe('registering', () => {
  test('guest_messages travels as the stranger limit of the key set, also when it changes', async () => {
    const node = await lab.member('guests')
    const limit = async () => {
      const { json } = await callRoute(lab.hub, 'agentKeys', undefined, { params: { aid: node.aid } })
      return KeySet.decode(fromBase64url(json['keys'] as string)).body.strangers.perDay
    }
    expect(await limit()).toBe(5)
    await node.handlers.hubRegister({ url: lab.line.url, guest_messages: 2 }, never)
    expect(await limit()).toBe(2)
  })

  test('where the next key was taken off the machine asks for the recovery phrase, before anything changes', async () => {
    const node = await lab.start('phrase')
    await lab.hub.running.hub.context.store.admit(node.aid, true)
    const phrase = node.ctx.identity.exportNext()
    node.ctx.identity.removeNext(phrase)
    const join = (given: object) => node.handlers.hubRegister({ url: lab.line.url, ...given }, never)
    await expect(join({})).rejects.toMatchObject({ code: 'next_key_missing' })
    await expect(join({ recovery_phrase: 'not the phrase' })).rejects.toMatchObject({
      code: 'next_key_missing',
    })
    expect(node.ctx.identity.log.seq).toBe(0)
    expect(await join({ recovery_phrase: phrase })).toMatchObject({ status: 'registered' })
    expect(node.ctx.identity.log.home).toBe(lab.hub.aid)
  })
})

describe('the profile', () => {
  test.each(['summary', 'readme', 'caps', 'name'] as const)(
    'never holds a secret of the node: not in the %s, and nothing of it is kept or sent',
    async member => {
      const node = await lab.member(`guarded-${member}`)
      const token = fs.readFileSync(join(node.ctx.dir, 'control_token.txt'), 'utf8').trim()
      const before = fs.readFileSync(join(node.ctx.dir, 'config.json'), 'utf8')
      const value = member === 'caps' ? [token] : token
      const change =
        member === 'name'
          ? node.handlers.hubRegister({ url: lab.line.url, name: token }, never)
          : node.handlers.profileSet({ [member]: value }, never)
      await expect(change).rejects.toMatchObject({
        code: 'bad_request',
        message: `${member} would publish the control token; nothing was published`,
      })
      expect(fs.readFileSync(join(node.ctx.dir, 'config.json'), 'utf8')).toBe(before)
      await node.handlers.profileSet(
        { [member === 'name' ? 'summary' : member]: member === 'caps' ? ['a.b'] : 'x' },
        never,
      )
    },
  )

  test('with a secret that somebody wrote into config.json is not sent, and the node says so and lives on', async () => {
    const dir = join(lab.folder, 'by-hand')
    const summary = 'my key is k-1234567890'
    const auto_reply = {
      backend: 'openai' as const,
      api_base: 'http://127.0.0.1:1/v1',
      model: 'm',
      api_key: 'k-1234567890',
    }
    writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0', summary, auto_reply })
    const node = await lab.start('by-hand')
    await lab.hub.running.hub.context.store.admit(node.aid, true)
    const registered = node.handlers.hubRegister({ url: lab.line.url }, never)
    await expect(registered).rejects.toMatchObject({
      message: 'summary would publish the key of a model server; nothing was published',
    })
    expect((await node.handlers.status(undefined, never)).aid).toBe(node.aid)
  })
})

test('the status has what a person set, where the node is, and auto_reply once that is configured', async () => {
  const node = await lab.member('shown')
  const set = { summary: 'sums up', readme: '# read', pricing: 'free' }
  await node.handlers.profileSet({ ...set, caps: ['text.sum'] }, never)
  const status = await node.handlers.status(undefined, never)
  expect(status).toMatchObject({
    ...set,
    aid: node.aid,
    version: '0.3.0',
    data_dir: node.ctx.dir,
    hub_url: lab.line.url,
    name: 'shown',
    caps: ['text.sum'],
    accept_delegations: true,
    guest_messages: 5,
    console_url: `http://${node.controlAddress}/console`,
  })
  expect(status).not.toHaveProperty('auto_reply')
  await node.handlers.autoReplySet({ command: process.execPath }, never)
  expect(await node.handlers.status(undefined, never)).toMatchObject({ auto_reply: { backend: 'exec' } })
})

describe('the control interface', () => {
  test('off the usual loopback address warns loudly; on it nothing is warned of', async () => {
    const dir = join(lab.folder, 'loud')
    writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.2:0' })
    const node = await startNode({ dir, env: { SVC_RUNTIME_DIR: join(lab.folder, 'run-loud') } })
    const { warnings } = await node.handlers.status(undefined, never)
    expect(warnings.join()).toMatch(/control interface listens on 127.0.0.2: anyone who can reach it/)
    await node.stop()
    const quiet = await lab.start('quiet')
    expect((await quiet.handlers.status(undefined, never)).warnings).toEqual([])
  })
})

describe('auto-reply with tools', () => {
  test('is recorded as evidence at every start; without tools there is no such record', async () => {
    const node = await lab.start('tools', { SVC_EXEC_COMMAND: '/bin/true' })
    const records = () =>
      node.ctx.chain.read({ eventType: 'svc.autoreply.tools' }).map(record => record['payload'])
    await node.handlers.autoReplySet({ backend: 'exec' }, never)
    expect(records()).toEqual([])
    await node.handlers.autoReplySet({ tools: 'read' }, never)
    expect(records()).toEqual([{ tools: 'read', backend: 'exec' }])
    await node.stop()
    const again = await lab.start('tools', { SVC_EXEC_COMMAND: '/bin/true' })
    expect(again.ctx.chain.read({ eventType: 'svc.autoreply.tools' })).toHaveLength(2)
  })
})

describe('an attachment', () => {
  test('over 64 MiB is refused, and nothing of it stays', async () => {
    const node = await lab.member('sender')
    const peer = await lab.start('receiver')
    const path = join(lab.folder, 'large.bin')
    const attach = () => node.handlers.delegate({ to: peer.aid, task: 'large', attach: [path] }, never)
    fs.writeFileSync(path, '')
    fs.truncateSync(path, 64 * MIB + 1)
    await expect(attach()).rejects.toMatchObject({
      code: 'too_large',
      message: expect.stringContaining('64 MiB'),
    })
    expect(fs.readdirSync(node.ctx.attachments.folder)).toEqual([])
  })
})

describe('evidence', () => {
  test('is read 50 records at a time and 1,000 at most, the newest of them, ascending', async () => {
    const node = await lab.start('chain')
    node.ctx.store.transaction(() => {
      for (let n = 0; n < 60; n++) node.ctx.chain.append('svc.test', { n })
    })
    const read = async (given: object) =>
      (await node.handlers.evidence(given, never)).records.map(record => record.seq)
    const last = (count: number) => Array.from({ length: count }, (_, i) => 60 - count + i)
    expect(await read({})).toEqual(last(50))
    expect(await read({ limit: 1000 })).toEqual(last(60))
    expect(await read({ since: 55 })).toEqual(last(5))
    expect(await read({ event_type: 'svc.tes' })).toEqual([])
    const { request } = operations.evidence
    expect([1000, 1001].map(limit => request.safeParse({ limit }).success)).toEqual([true, false])
  })
})
