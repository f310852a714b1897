/** `svc verify` offline, over what somebody shows to make a receipt count; the page that verifies reads the same vectors. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromHex, toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import { runIn } from '../testing.ts'

type Vector = {
  reason: string
  receipt: string
  kel: string
  kels?: string[]
  before?: { attestation: string }[]
  attestation?: string
  hubKel?: string
  named?: string[]
  verdict: string
}
type ChainVector = { reason: string; file: string; kels: string[]; verdict: string }
const { cases, chains } = JSON.parse(
  readFileSync(new URL('../../fixtures/judge/hostile.json', import.meta.url), 'utf8'),
) as { cases: Vector[]; chains: ChainVector[] }
const base64 = (hex: string) => toBase64(fromHex(hex))
const named = cases.find(({ verdict }) => verdict === 'valid_retired_key')
const hubKel = fromHex(named?.hubKel ?? '')

describe('a receipt that somebody wants to count', () => {
  let hub: Server
  let url: string
  beforeAll(async () => {
    const { aid } = verifyKel(decodeKel(hubKel))
    const said = { aid, kel: toBase64url(hubKel), wire: 3, dir_max_bits: 10 }
    hub = createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'X-Svc-Wire': '3' })
      response.end(JSON.stringify(said))
    }).listen(0, '127.0.0.1')
    await once(hub, 'listening')
    url = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`
  })
  afterAll(() => hub.close())

  test.each(cases)('is judged by the hub that was named alone: $reason', async vector => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-verify-'))
    const { receipt, kel, kels = [], before = [], attestation, named: hubs = [] } = vector
    const words = ['verify', '--receipt', base64(receipt)]
    for (const one of [kel, ...kels]) words.push('--kel', base64(one))
    for (const one of before) words.push('--attestation', base64(one.attestation))
    if (attestation !== undefined) words.push('--attestation', base64(attestation))
    if (hubs.length > 0) words.push('--hub', url)
    const { code, out, err } = await runIn(folder, words)
    if (vector.verdict === 'valid_retired_key') {
      expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ verdict: vector.verdict })])
      expect(JSON.parse(out).says).toContain(hubs[0])
    } else if (vector.verdict === 'not checked') {
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(/not checked: .* differ from event \d+ on/)
    } else {
      expect(code).toBeGreaterThan(0)
      expect(out + err).toMatch(
        /"verdict": ?"invalid"|is not the word of this hub|needs the hub that signed it|later than that/,
      )
    }
  })
})

describe('a chain that its owner hands out', () => {
  test.each(chains)('is held against other key histories of the owner: $reason', async vector => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-verify-'))
    writeFileSync(join(folder, 'chain.txt'), vector.file)
    const words = ['verify', '--chain', 'chain.txt']
    for (const kel of vector.kels) words.push('--kel', base64(kel))
    const { code, out, err } = await runIn(folder, words)
    if (vector.verdict === 'valid') expect([code, JSON.parse(out).verdict]).toEqual([0, 'valid'])
    else {
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(/not checked: .* differ from event \d+ on/)
    }
  })
})
