import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed } from '../encoding/bytes.ts'
import { agent, fixture } from '../testing/agents.ts'
import { cardText, signCard, type UnsignedCard } from './card.ts'
import { decodeKel, rotate, verifyKel } from './kel.ts'
import { signOpenCard, verifyOpenCard } from './open-card.ts'

const [alice, bob] = [agent('open card alice'), agent('open card bob')]
const card: UnsignedCard = {
  name: 'Translator',
  description: 'Translates short texts.',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://a.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'translate', name: 'Translate', description: 'One language into another.', tags: ['text'] }],
}
const signer = { seed: alice.identitySeed, aid: alice.aid, seq: 0, number: 7 }
const text = cardText(signOpenCard(card, signer))

const vectors = fixture<{
  kel: string
  valid: { text: string; number: number; reason: string }[]
  invalid: { text: string; reason: string }[]
}>('card/open-cards.json')
const owner = verifyKel(decodeKel(fromHex(vectors.kel)))

describe('the vectors', () => {
  test.each(vectors.valid)('a card with $reason has its number', ({ text: card, number }) => {
    expect(verifyOpenCard(card, owner)).toEqual({ number })
  })

  test.each(vectors.invalid)('a card with $reason is refused', ({ text: card }) => {
    let read: unknown
    try {
      read = verifyOpenCard(card, owner)
    } catch (error) {
      expect(error).toBeInstanceOf(Malformed)
    }
    expect(read).toBeUndefined()
  })
})

describe('an open card', () => {
  test('holds under the present key of its agent, however its JSON is spaced, and has its number', () => {
    expect(verifyOpenCard(text, alice.log)).toEqual({ number: 7 })
    expect(verifyOpenCard(JSON.stringify(JSON.parse(text), null, 2), alice.log)).toEqual({ number: 7 })
  })

  test('names no address of a key set, so that it is none of the other kind, nor the reverse', () => {
    expect(text).not.toContain('jku')
    const { seed, aid, seq } = signer
    const other = cardText(signCard(card, { seed, aid, seq, baseUrl: 'https://hub.example' }))
    expect(verifyOpenCard(other, alice.log)).toBeUndefined()
  })

  test('does not hold for another agent, another key state, or with another subject', () => {
    expect(verifyOpenCard(text, bob.log)).toBeUndefined()
    const rotated = rotate(alice.log, { seed: alice.nextSeed, nextSeed: bob.nextSeed, ts: Date.now() })
    expect(verifyOpenCard(text, rotated)).toBeUndefined()
    const own = { seed: alice.identitySeed, aid: alice.aid, seq: 0 }
    const named = (params: Record<string, string | number>) => {
      const extensions = [{ uri: 'svc.card', params }]
      return cardText(signOpenCard({ ...card, capabilities: { extensions } }, { ...own, number: 1 }))
    }
    // two of them: nobody could say which one counts
    expect(verifyOpenCard(named({ subject_did: `did:svc:${alice.aid}`, seq: 2 }), alice.log)).toBeUndefined()
  })

  test('is refused where its subject is another, its number none, or it is too large', () => {
    const refused = [
      { ...signer, aid: bob.aid },
      { ...signer, number: -1 },
      { ...signer, number: 0.5 },
    ]
    for (const one of refused)
      expect(verifyOpenCard(cardText(signOpenCard(card, one)), alice.log)).toBeUndefined()
    const long = cardText(signOpenCard({ ...card, skills: Array(20).fill(longSkill) }, signer))
    expect(verifyOpenCard(long, alice.log)).toBeUndefined()
    expect(() => verifyOpenCard('{', alice.log)).toThrow(Malformed)
  })

  test('does not hold once a letter of it is another', () => {
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom('a', 'Z', '0', '{', '"'), (at, letter) => {
        fc.pre(text[at] !== letter)
        const altered = text.slice(0, at) + letter + text.slice(at + 1)
        try {
          return verifyOpenCard(altered, alice.log) === undefined
        } catch (error) {
          return error instanceof Malformed
        }
      }),
      { numRuns: 300 },
    )
  })
})

const longSkill = { id: 'long', name: 'Long', description: 'x'.repeat(4000), tags: ['text'] }
