/** What a card offers to whoever has no node: uses of capabilities for a voucher, with price and address. */
import * as z from 'zod'
import { isVisibleLine } from '../encoding/plain-text.ts'

/** The extension of a card that lists prices, objects §21. */
export const PRICING_EXTENSION = 'svc.pricing'
/** The binding of the interface at which a provider takes vouchers, objects §21. */
export const REDEEM_BINDING = 'x402-redeem'

/** As much of a card as this needs; the whole was judged when it came in. */
const read = z.object({
  supportedInterfaces: z.array(z.object({ url: z.string(), protocolBinding: z.string() })).default([]),
  capabilities: z
    .object({
      extensions: z
        .array(z.object({ uri: z.string(), params: z.record(z.string(), z.unknown()).optional() }))
        .default([]),
    })
    .default({ extensions: [] }),
})
const price = z.object({ capability: z.string().min(1), amount: z.int().min(1) })

/** `prices` in whole credits by capability; `redeemAt` is where a voucher is handed in, absent where nowhere. */
export type CardOffers = { prices: ReadonlyMap<string, number>; redeemAt: string | undefined }

/** The offers of a card, as far as they are any. */
export function cardOffers(card: unknown): CardOffers {
  const parsed = read.safeParse(card)
  if (!parsed.success) return { prices: new Map(), redeemAt: undefined }
  const { capabilities, supportedInterfaces } = parsed.data
  const listed = capabilities.extensions.find(({ uri }) => uri === PRICING_EXTENSION)?.params?.['prices']
  const prices = (Array.isArray(listed) ? listed : [])
    .flatMap(one => price.safeParse(one).data ?? [])
    .filter(({ capability }) => isVisibleLine(capability))
  const redeem = supportedInterfaces.find(one => one.protocolBinding === REDEEM_BINDING)
  return {
    prices: new Map(prices.map(({ capability, amount }) => [capability, amount])),
    redeemAt: redeem !== undefined && isWebAddress(redeem.url) ? redeem.url : undefined,
  }
}

const isWebAddress = (url: string): boolean =>
  URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol)
