import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Decoders that another one calls with bytes of the same origin, or that read the hub's own store. */
const covered: Record<string, string> = {
  decodeFirst: 'parseEnvelopeHead',
  readHead: 'decode',
  open: 'openEnvelope',
  openSession: 'SessionGrant',
  Dack: 'openDack',
}
const protocol = new URL('../../protocol/', import.meta.url)
const decoders = readdirSync(protocol, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts') && !/test/.test(file))
  .flatMap(file => [
    ...readFileSync(new URL(file, protocol), 'utf8').matchAll(
      /^export (?:async )?(?:function (?<name>(?:decode|parse|read|open)\w*)\(|const (?<object>\w+) = signed\()/gm,
    ),
  ])
  .map(found => found.groups?.['name'] ?? found.groups?.['object'] ?? '')
const fuzzed = ['protocol-subjects.ts', 'openings.ts']
  .map(file => readFileSync(new URL(file, import.meta.url), 'utf8'))
  .join('\n')

test.each(decoders)('the decoder %s of the protocol is fuzzed', name => {
  expect(fuzzed).toMatch(new RegExp(`\\b${covered[name] ?? name}\\b`))
})
