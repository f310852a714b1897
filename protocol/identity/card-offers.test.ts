import { describe, expect, test } from 'vitest'
import { cardOffers } from './card-offers.ts'

const card = (prices: unknown, more: Record<string, unknown> = {}) => ({
  supportedInterfaces: [
    { url: 'https://a.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://a.example/redeem', protocolBinding: 'x402-redeem', protocolVersion: '2' },
    { url: 'https://b.example/redeem', protocolBinding: 'x402-redeem', protocolVersion: '2' },
  ],
  capabilities: { extensions: [{ uri: 'https://x.example' }, { uri: 'svc.pricing', params: { prices } }] },
  ...more,
})
const price = (capability: unknown, amount: unknown) => ({ capability, amount })

describe('the offers of a card', () => {
  test('are its prices under svc.pricing, and the first address of x402-redeem', () => {
    const { prices, redeemAt } = cardOffers(card([price('text.count', 5), price('task', 9)]))
    expect([...prices]).toEqual([
      ['text.count', 5],
      ['task', 9],
    ])
    expect(redeemAt).toBe('https://a.example/redeem')
  })

  test('leave out what is no price', () => {
    const listed = [
      ...[price('', 1), price('a\nb', 1), price('free', 0), price('half', 0.5), price('text', '1')],
      ...[price('more', Number.MAX_SAFE_INTEGER + 1), price(1, 1), null, 'x', { amount: 1 }],
      price('most', Number.MAX_SAFE_INTEGER),
    ]
    expect([...cardOffers(card(listed)).prices]).toEqual([['most', Number.MAX_SAFE_INTEGER]])
  })

  test.each([
    ['nothing', undefined],
    ['a text', 'card'],
    ['a card of wire 3 with prices by name', card({ 'text.count': 5 })],
    ['a card without extensions', card([], { capabilities: {} })],
    ['a card with an extension that is none', card([], { capabilities: { extensions: [1] } })],
  ])('of %s are none', (_, given) => {
    expect(cardOffers(given).prices.size).toBe(0)
  })

  test.each([
    ['no such interface', []],
    ['one at no address', [{ url: 'x', protocolBinding: 'x402-redeem' }]],
    ['one at a file', [{ url: 'file:///etc/passwd', protocolBinding: 'x402-redeem' }]],
  ])('with %s have no address to redeem at', (_, supportedInterfaces) => {
    const { prices, redeemAt } = cardOffers(card([price('a', 1)], { supportedInterfaces }))
    expect([prices.size, redeemAt]).toEqual([1, undefined])
  })
})
