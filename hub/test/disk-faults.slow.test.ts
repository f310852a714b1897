/** A disk that fails for real under a hub at work: flushes with EIO at every early place, no room, and power cuts. */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { crashFolder, newHistory, removeHistories } from '../testing/crash-history.ts'
import { faultyDisk, hasCompiler } from '../testing/disk.ts'
import { random, type TestAgent } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { runHub } from '../testing/process.ts'

const FLUSHES = 24
const CUTS = Number(process.env['SVC_POWER_CUTS'] ?? 30)
const CUT_WITHIN_MS = 500

afterEach(removeHistories)

describe.runIf(hasCompiler)('the disk', () => {
  test('fails at one flush after the other: the hub ends with 1 and has lost nothing', {
    timeout: 600_000,
  }, async () => {
    const history = await newHistory()
    const codes: (number | null)[] = []
    for (let flush = 1; flush <= FLUSHES; flush++) {
      await history.stop()
      const env = faultyDisk(history.directory, { failFlushFrom: flush })
      const started = await history.start({ env }).catch(() => undefined)
      if (started === undefined) {
        // The first flushes are those of the start itself, which then does not serve.
        const { code } = await runHub(['serve', '--listen', '127.0.0.1:0', '--data-dir', history.directory], {
          env,
        })
        codes.push(code)
      } else {
        await history.work()
        codes.push((await started.exited).code)
      }
      expect(await history.recover(), `flush ${flush}`).toEqual([])
    }
    expect(codes).toEqual(Array.from({ length: FLUSHES }, () => 1))
    process.stdout.write(`failed flushes: ${JSON.stringify(history.figures)}\n`)
    await history.stop()
  })

  test('fails under the file of a large envelope only: the hub ends all the same', async () => {
    const history = await newHistory()
    await history.stop()
    const env = faultyDisk(history.directory, { failFlushFrom: 1, failFlushUnder: 'tmp' })
    const hub = await history.start({ env })
    const [agent] = history.agents as [TestAgent]
    const offer = (contentBytes: number) =>
      sendEnvelope(hub, sealedUnderCapability(agent, agent.capability(), { contentBytes }))
    expect((await offer(64)).status).toBe(200)
    const large = await offer(70_000)
    expect([large.status, large.json['reason']]).toEqual([503, 'unavailable'])
    expect(await hub.exited).toEqual({ code: 1, signal: null })
  })

  test.each([
    ['', false],
    [', also for a hub that starts', true],
  ])(
    'has no room%s: sends wait, mail is collected, and that makes room',
    { timeout: 120_000 },
    async (_, starts) => {
      const history = await newHistory()
      await history.stop()
      const mark = join(crashFolder(), 'full')
      const hub = await history.start({ env: faultyDisk(history.directory, { fullWhile: mark }) })
      const [agent] = history.agents as [TestAgent]
      const waiting = sealedUnderCapability(agent, agent.capability())
      expect((await sendEnvelope(hub, waiting)).status).toBe(200)
      writeFileSync(mark, '')
      for (const contentBytes of [64, 70_000]) {
        const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes })
        const reply = await sendEnvelope(hub, envelope)
        expect([reply.status, reply.json['reason']]).toEqual([503, 'unavailable'])
        expect(Number(reply.headers.get('Retry-After'))).toBeGreaterThan(0)
      }
      // It must also start on a full disk, or nobody could make room; it takes what it needs from its reserve.
      expect(existsSync(join(history.directory, 'reserve'))).toBe(true)
      if (starts) {
        hub.kill('SIGKILL')
        await hub.exited
        await history.start({ env: faultyDisk(history.directory, { fullWhile: mark }) })
        expect(existsSync(join(history.directory, 'reserve'))).toBe(false)
      }
      const { messages } = await agent.poll()
      expect(messages.map(({ envelope }) => envelope)).toContain(toBase64url(waiting.bytes))
      const [own] = messages.filter(({ envelope }) => envelope === toBase64url(waiting.bytes))
      const items = [{ id: own?.id, handle: toBase64url(random(16)), dack: toBase64url(random(540)) }]
      expect((await agent.call('relayAck', { items })).json).toMatchObject({ acked: 1 })
      expect(existsSync(join(history.directory, 'reserve'))).toBe(false)
      await history.work(5)
      rmSync(mark)
      expect(await history.dieAfter(100)).toEqual([])
      await history.stop()
    },
  )

  test('has room again: the log says so within 90 s, though no mail comes', {
    timeout: 120_000,
  }, async () => {
    const history = await newHistory()
    await history.stop()
    const mark = join(crashFolder(), 'full')
    const hub = await history.start({ env: faultyDisk(history.directory, { fullWhile: mark }) })
    const [agent] = history.agents as [TestAgent]
    writeFileSync(mark, '')
    const refused = await sendEnvelope(hub, sealedUnderCapability(agent, agent.capability()))
    expect(refused.status).toBe(507)
    rmSync(mark)
    await expect
      .poll(() => hub.said(), { timeout: 90_000, interval: 500 })
      .toMatch(/there is room for mail again/)
    await history.stop()
  })

  test('has no room for a backup or a restore: a sentence says so, and nothing is left of either', async () => {
    const history = await newHistory()
    const place = crashFolder()
    const mark = join(crashFolder(), 'full')
    writeFileSync(mark, '')
    // The library takes this for the place's own reserve, which nobody gives up.
    writeFileSync(join(place, 'reserve'), '')
    const env = faultyDisk(place, { fullWhile: mark })
    const saved = join(place, 'saved')
    const at = ['--data-dir', history.directory]
    const backup = await runHub(['backup', saved, ...at], { env })
    expect([backup.code, backup.stderr]).toEqual([
      1,
      expect.stringContaining('not enough space for a backup'),
    ])
    expect(readdirSync(place)).toEqual(['reserve'])
    expect((await runHub(['backup', saved, ...at])).code).toBe(0)
    const restore = await runHub(['restore', saved, '--data-dir', join(place, 'fresh')], { env })
    expect([restore.code, restore.stderr]).toEqual([
      1,
      expect.stringContaining('not enough space to restore'),
    ])
    expect(readdirSync(place).sort()).toEqual(['reserve', 'saved'])
    expect((await runHub(['restore', saved, '--data-dir', join(place, 'fresh')])).code).toBe(0)
    await history.stop()
  })

  test('loses its power: what was flushed is enough', { timeout: 600_000 }, async () => {
    const history = await newHistory()
    const place = crashFolder()
    const seed = Date.now() % 1_000_000
    for (let cut = 0; cut < CUTS; cut++) {
      await history.stop()
      const shadow = join(place, `${cut}`)
      mkdirSync(shadow)
      cpSync(history.directory, shadow, { recursive: true, filter: path => !path.endsWith('.sock') })
      const hub = await history.start({ env: faultyDisk(history.directory, { shadow }) })
      const working = history.work()
      setTimeout(() => hub.kill('SIGKILL'), (seed * (cut + 7)) % CUT_WITHIN_MS)
      await working
      await hub.exited
      rmSync(history.directory, { recursive: true })
      expect(await history.recover(shadow), `seed ${seed}, cut ${cut}`).toEqual([])
    }
    process.stdout.write(`power cuts, seed ${seed}: ${JSON.stringify(history.figures)}\n`)
    await history.stop()
  })
})
