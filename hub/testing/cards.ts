/** For tests: the signed card of an agent. */
import { type AgentCard, signCard, type UnsignedCard } from '../../protocol/identity/card.ts'
import type { TestAgent } from './hub.ts'

/** A card before its signature, with the members that every card has. */
export const plainCard: UnsignedCard = {
  name: 'Translator',
  description: 'Translates short texts.',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://a.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'translate', name: 'Translate', description: 'Languages.', tags: ['text', 'language'] }],
}

/** A card for the hub where the agent is registered. */
export function cardOf(of: TestAgent, more: Partial<UnsignedCard> = {}): AgentCard {
  const signer = { seed: of.seed, aid: of.aid, seq: of.log.seq, baseUrl: of.target.url }
  return signCard({ ...plainCard, ...more }, signer)
}
