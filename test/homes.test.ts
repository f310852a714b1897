// project: programs

/** Directories that earlier builds left behind open with this one, and nothing of them is lost. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
const homes = join(root, 'fixtures', 'homes')
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
type Expected = {
  hub_aid: string
  aid: string
  peer: string
  interaction_id: string
  receipt_id: string
  chain_head: string
}

describe.each(readdirSync(homes))('the directories of %s', name => {
  const expected = JSON.parse(readFileSync(join(homes, name, 'expected.json'), 'utf8')) as Expected
  let world: World

  /** The directory as it was left, on a control port that is free here. */
  function placeNode(as: 'alice' | 'bob'): void {
    cpSync(join(homes, name, 'node'), world.dir(as), { recursive: true })
    const file = world.dir(as, 'config.json')
    const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    writeFileSync(file, JSON.stringify({ ...config, control_addr: '127.0.0.1:0' }))
  }

  beforeAll(() => {
    world = new World(programs)
    cpSync(join(homes, name, 'hub'), world.dir('hub'), { recursive: true })
    placeNode('alice')
    // git keeps no empty folders
    for (const folder of ['tmp', 'blobs']) mkdirSync(world.dir('hub', folder), { recursive: true })
  })
  afterAll(() => world[Symbol.asyncDispose]())

  test('the hub serves with its identity and its agents', async () => {
    const hub = await world.startHub()
    expect(hub.aid).toBe(expected.hub_aid)
    for (const aid of [expected.aid, expected.peer]) {
      const answer = await fetch(`${hub.url}/agents/${aid}/kel`, { headers: { 'X-Svc-Wire': '3' } })
      expect(await answer.json()).toMatchObject({ aid, registered: true })
    }
  })

  test('a copy of a directory does not run beside its original', async () => {
    const { pid } = await world.startNode('alice')
    cpSync(world.dir('alice'), world.dir('bob'), {
      recursive: true,
      filter: path => !/control.sock$|daemon.lock$/.test(path),
    })
    const runs = `already runs on this machine (pid ${pid}, ${world.dir('alice')}), and both would sign`
    const stop = `SVC_DATA_DIR=${world.dir('alice')} svc stop`
    await expect(world.startNode('bob')).rejects.toThrow(`${runs}; end that one first: ${stop}`)
    const seen = await world.run(programs.svc, ['doctor'], world.env('bob'))
    const { findings } = JSON.parse(seen.stdout) as { findings: { check: string }[] }
    expect(findings.find(({ check }) => check === 'process')).toMatchObject({
      state: 'wrong',
      found: expect.stringContaining(runs),
      mend: `${stop} && svc up`,
    })
    rmSync(world.dir('bob'), { recursive: true })
    await world.svc('alice', 'stop')
  })

  test('the node opens its chain and still verifies its receipt', async () => {
    expect((await world.startNode('alice'))['aid']).toBe(expected.aid)
    const verdict = await world.svc('alice', 'verify', expected.interaction_id)
    expect(verdict).toMatchObject({
      verdict: 'valid',
      receipt_id: expected.receipt_id,
      counter_signed: true,
    })
    const evidence = (await world.svc('alice', 'evidence')) as { head: { head_id: string; state: string } }
    expect(evidence.head).toMatchObject({ head_id: expected.chain_head, state: 'ACTIVE' })
  })

  test('the conversation with its attachment is there, and can be searched', async () => {
    const thread = (await world.svc('alice', 'thread', expected.interaction_id)) as {
      state: string
      turns: { text: string; attachments: { path: string }[] }[]
    }
    expect(thread.state).toBe('ended')
    expect(thread.turns.map(turn => turn.text)).toEqual(
      expect.arrayContaining(['Keep this for later releases', 'Kept.']),
    )
    const path = thread.turns.flatMap(turn => turn.attachments)[0]?.path as string
    expect(readFileSync(path, 'utf8')).toBe('an attachment that stays\n')
  })

  test('a chain file that is longer than the store is refused, and evidence import completes the store', async () => {
    await world.svc('alice', 'stop')
    placeNode('bob')
    const file = world.dir('bob', 'evidence.ael.jsonl')
    const newer = readFileSync(file, 'utf8')
    const lines = newer.trim().split('\n')
    expect(lines.length).toBeGreaterThan(1)
    await shortenStore(world, lines.length - 1)
    const refused = await world.run(programs.svc, ['daemon'], world.env('bob'))
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('svc evidence import') as string,
    ])
    expect(await world.svc('bob', 'evidence', 'import')).toMatchObject({
      length: lines.length,
      imported: 1,
      state: 'ACTIVE',
    })
    expect((await world.startNode('bob'))['aid']).toBe(expected.aid)
  })
})

/** Makes the store of bob an older one: without the records from `from` on. */
async function shortenStore(world: World, from: number): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite')
  const db = new DatabaseSync(world.dir('bob', 'interactions', 'store.db'))
  db.prepare('DELETE FROM chain WHERE seq >= ?').run(from)
  db.close()
}
