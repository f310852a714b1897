import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ChainRecord, parseRecordLine } from '../../protocol/proof/evidence.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { lockDirectory } from '../home/lock.ts'
import { openIdentity } from '../identity/identity.ts'
import { openStore, type Store } from '../store/open.ts'
import { type Chain, openChain } from './chain.ts'
import { importChain } from './import.ts'
import { jsonLine } from './json-lines.ts'

const random = (n: number) => crypto.getRandomValues(new Uint8Array(n))

const outside = { now: Date.now, random }

/** Opens the chain of a directory as a start does, works on it, and closes everything. */
async function opened<T>(dir: string, work: (chain: Chain, store: Store) => T): Promise<T> {
  const identity = openIdentity(dir, { now: Date.now, random })
  const store = openStore(dir)
  try {
    const chain = await openChain(dir, store, identity, { now: Date.now, timers: systemTimers })
    const result = work(chain, store)
    chain.close()
    return result
  } finally {
    store.close()
  }
}

async function directory(records: number): Promise<{ dir: string; file: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-import-'))
  await opened(dir, chain => {
    for (let i = 0; i < records; i++)
      chain.append('test.event', { n: i, raw: new Uint8Array([i, 255]), text: 'ü' })
  })
  return { dir, file: join(dir, 'evidence.ael.jsonl') }
}

function onStore(dir: string, sql: string): void {
  const store = openStore(dir)
  store.run(sql)
  store.close()
}

const lines = (file: string) => readFileSync(file, 'latin1').split('\n').filter(Boolean)

describe('importing a chain', () => {
  test('records that the store lacks come back, and the node starts again', async () => {
    const { dir, file } = await directory(5)
    const whole = readFileSync(file)
    onStore(dir, 'DELETE FROM chain WHERE seq >= 2')
    await expect(opened(dir, () => 0)).rejects.toThrow(/svc evidence import/)
    expect(await importChain(dir, outside)).toEqual({ length: 5, imported: 3 })
    expect(await opened(dir, chain => chain.head())).toMatchObject({ length: 5, state: 'ACTIVE' })
    expect(readFileSync(file).equals(whole)).toBe(true)
    expect(await importChain(dir, outside)).toEqual({ length: 5, imported: 0 })
  })

  test('a changed record is refused, and nothing is imported', async () => {
    const { dir, file } = await directory(3)
    const all = lines(file)
    const bytes = Buffer.from(all[2] as string, 'base64')
    const { signature } = ChainRecord.decode(bytes)
    const at = bytes.indexOf(signature)
    bytes[at] = (bytes[at] as number) ^ 1
    writeFileSync(file, `${[all[0], all[1], bytes.toString('base64')].join('\n')}\n`)
    onStore(dir, 'DELETE FROM chain')
    await expect(importChain(dir, outside)).rejects.toThrow(/record 2: its signature does not hold/)
    const store = openStore(dir)
    expect(store.get('SELECT 1 FROM chain')).toBeUndefined()
    store.close()
  })

  test('a chain of another identity, a directory in use and one without identity are refused', async () => {
    const { dir } = await directory(1)
    const other = await directory(1)
    await expect(importChain(dir, { ...outside, file: other.file })).rejects.toThrow(/record 0/)
    using _lock = lockDirectory(dir)
    await expect(importChain(mkdtempSync(join(tmpdir(), 'svc-none-')), outside)).rejects.toThrow(
      'holds no identity',
    )
  })

  test('two ids of one seq are kept in an anchor, and the chain is quarantined for good', async () => {
    const { dir, file } = await directory(4)
    const previous = readFileSync(file)
    onStore(dir, 'DELETE FROM chain WHERE seq >= 2')
    writeFileSync(file, `${lines(file).slice(0, 2).join('\n')}\n`)
    await opened(dir, chain => chain.append('test.other', {}))
    writeFileSync(file, previous)
    await expect(opened(dir, () => 0)).rejects.toThrow(/record 2: the store holds another record/)
    expect(await importChain(dir, outside)).toEqual({ length: 4, imported: 0, fork: 2 })
    expect(readFileSync(`${file}.fork-2`).equals(previous)).toBe(true)
    const [head, anchors] = await opened(
      dir,
      chain => [chain.head(), chain.read({ eventType: 'svc.chain.fork' })] as const,
    )
    expect(head).toMatchObject({ length: 4, state: 'QUARANTINED' })
    const payload = anchors[0]?.['payload'] as Record<string, unknown>
    expect(payload).toMatchObject({ 1: head.chain_did, 2: 2 })
    expect(payload['3']).not.toBe(payload['4'])
    expect(existsSync(file)).toBe(true)
  })
})

describe('JSON lines of older nodes', () => {
  const asJson = (line: string) => jsonLine(ChainRecord.decode(parseRecordLine(line)))

  test('are read and verified as the record they show', async () => {
    const { dir, file } = await directory(3)
    const [first, second, third] = lines(file) as [string, string, string]
    writeFileSync(file, `${asJson(first)}\n${asJson(second)}\n${third}\n`)
    const read = await opened(dir, chain => {
      chain.append('test.after', {})
      return chain.read()
    })
    expect(read).toHaveLength(4)
    expect(await opened(dir, chain => chain.length)).toBe(4)
    expect(JSON.parse(lines(file)[0] as string)).toMatchObject({ seq: 0, version_major: 2, key_state_seq: 0 })
  })

  test.each([
    ['another payload', (json: string) => json.replace('"n":1', '"n":7')],
    ['another time', (json: string) => json.replace(/"timestamp":\d/, '"timestamp":9')],
    ['an unknown member', (json: string) => json.replace('{', '{"x":1,')],
    ['a member twice', (json: string) => json.replace('{', '{"seq":1,')],
  ])('with %s are refused by their number', async (_what, change) => {
    const { dir, file } = await directory(3)
    const [first, second, third] = lines(file) as [string, string, string]
    const changed = change(asJson(second))
    expect(changed).not.toBe(asJson(second))
    writeFileSync(file, `${first}\n${changed}\n${third}\n`)
    await expect(opened(dir, () => 0)).rejects.toThrow(/record 1/)
  })

  test('a torn one at the end is written again from the store', async () => {
    const { dir, file } = await directory(2)
    const [first, second] = lines(file) as [string, string]
    writeFileSync(file, `${first}\n${asJson(second).slice(0, 80)}`)
    expect(await opened(dir, chain => chain.length)).toBe(2)
    expect(lines(file)).toEqual([first, second])
  })
})

describe('reading', () => {
  test('a record changed in the store after it was verified is not shown', async () => {
    const { dir } = await directory(2)
    await opened(dir, (chain, store) => {
      store.run('UPDATE chain SET record = (SELECT record FROM chain WHERE seq = 0) WHERE seq = 1')
      expect(() => chain.read()).toThrow(/record 1 in the store/)
    })
  })
})
