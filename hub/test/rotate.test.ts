// project: programs

/** The rotation of the hub's own key: on a running hub and a stopped one, also when it is interrupted. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { decodeKel, keyAt, type VerifiedKel, verifyKel } from '../../protocol/identity/kel.ts'
import { KeyStateNotice, noticeAgrees } from '../../protocol/identity/keyset.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { callRoute, registeredAgent, startTestHub, type Target } from '../testing/hub.ts'
import { runHub, startHubChild } from '../testing/process.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-rotate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function hubLog(target: Pick<Target, 'url'>): Promise<VerifiedKel> {
  const { json } = await callRoute(target, 'hubIdentity', undefined)
  return verifyKel(decodeKel(fromBase64url(json['kel'] as string)))
}

test('a running hub signs under the new key at once, and its AID stays', async () => {
  const hub = await startTestHub()
  const agent = await registeredAgent(hub)
  const noticeOf = async () => KeyStateNotice.decode(fromBase64url((await agent.poll()).key_state_notice))
  expect((await noticeOf()).body.hubSeq).toBe(0)
  const before = await hubLog(hub)
  expect(await hub.running.order({ command: 'rotate' })).toEqual({ aid: hub.aid, key_events: 2 })
  const after = await hubLog(hub)
  expect([after.aid, after.seq]).toEqual([before.aid, 1])
  expect(keyAt(after, 1)).not.toEqual(keyAt(before, 0))
  const notice = await noticeOf()
  expect(notice.body.hubSeq).toBe(1)
  const { json } = await callRoute(hub, 'agentKel', undefined, { params: { aid: agent.aid } })
  const log = verifyKel(decodeKel(fromBase64url(json['kel'] as string)))
  expect([noticeAgrees(notice, log, after), noticeAgrees(notice, log, before)]).toEqual([true, false])
  await hub.restart()
  expect((await hubLog(hub)).seq).toBe(1)
  await hub.running.order({ command: 'rotate' })
  expect((await hubLog(hub)).seq).toBe(2)
  await hub.close()
})

test('while a backup is being made the key stays', async () => {
  const hub = await startTestHub()
  const { lease } = await hub.running.order({ command: 'keep_files' })
  await expect(hub.running.order({ command: 'rotate' })).rejects.toThrow(/a backup is being made/)
  await hub.running.order({ command: 'let_go', lease: String(lease) })
  expect(await hub.running.order({ command: 'rotate' })).toMatchObject({ key_events: 2 })
  await hub.close()
})

test('a stopped hub is rotated by the same command; doctor and backup know the new key', async () => {
  const directory = join(folder, 'stopped')
  const at = ['--data-dir', directory]
  await runHub(['init', ...at])
  for (const events of [2, 3])
    expect(JSON.parse((await runHub(['rotate', ...at])).stdout)).toMatchObject({ key_events: events })
  expect((await runHub(['doctor', ...at])).code).toBe(0)
  const saved = join(folder, 'saved')
  expect((await runHub(['backup', saved, ...at])).code).toBe(0)
  const restored = ['--data-dir', join(folder, 'restored')]
  await runHub(['restore', saved, ...restored])
  expect(JSON.parse((await runHub(['rotate', ...restored])).stdout)).toMatchObject({ key_events: 4 })
  rmSync(join(directory, 'identity.next'))
  const refused = await runHub(['rotate', ...at])
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/the next key in .* is missing .*; restore identity.next from a backup/),
  ])
  expect((await runHub(['doctor', ...at])).stdout).toMatch(/the key of its next rotation, is missing/)
})

test('a backup from before a rotation serves with the newer identity put beside it', async () => {
  const rotated = join(folder, 'rotated')
  const from = ['--data-dir', rotated]
  await runHub(['init', ...from])
  const saved = join(folder, 'before-rotation')
  expect((await runHub(['backup', saved, ...from])).code).toBe(0)
  await runHub(['rotate', ...from])
  const directory = join(folder, 'restored-before')
  const to = ['--data-dir', directory]
  await runHub(['restore', saved, ...to])
  for (const file of ['identity.kel', 'identity.next'])
    copyFileSync(join(rotated, file), join(directory, file))
  expect((await runHub(['doctor', ...to])).code).toBe(0)
  expect(JSON.parse((await runHub(['rotate', ...to])).stdout)).toMatchObject({ key_events: 3 })
})

test.each([
  ['hub.rotate.before-kel', 0],
  ['hub.rotate.after-kel', 1],
])(
  'a rotation that is killed at %s leaves the old or the new key, and can be repeated',
  async (fault, seq) => {
    const directory = join(folder, fault)
    const first = await startHubChild(directory, { fault })
    await orderRunningHub(directory, { command: 'rotate' }).catch(() => undefined)
    expect((await first.exited).signal).toBe('SIGKILL')
    expect(existsSync(join(directory, 'identity.next.new'))).toBe(true)
    const second = await startHubChild(directory)
    try {
      expect([second.aid, (await hubLog(second)).seq]).toEqual([first.aid, seq])
      expect(existsSync(join(directory, 'identity.next.new'))).toBe(false)
      expect(await orderRunningHub(directory, { command: 'rotate' })).toMatchObject({
        ok: true,
        result: { aid: first.aid, key_events: seq + 2 },
      })
    } finally {
      second.kill('SIGTERM')
    }
    expect((await second.exited).code).toBe(0)
  },
)
