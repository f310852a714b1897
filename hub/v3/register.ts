/** Registration, key sets, key histories, profile and leaving (hub API §4.2, §4.5). */

import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import type { Hub } from '../core/hub.ts'
import type { Profile, Registered } from '../core/membership/registry.ts'
import { Refusal } from '../core/refusal.ts'
import type { Part } from './handler.ts'

type Names =
  | 'register'
  | 'publishKeys'
  | 'agentKeys'
  | 'pushKel'
  | 'hubIdentity'
  | 'agentKel'
  | 'updateProfile'
  | 'setVisibility'
  | 'deregister'

export function registerHandlers(hub: Hub, baseUrl: () => string): Part<Names> {
  const { registry, agents, directory } = hub
  const { identity } = hub.context
  return {
    async register({ body, address, verifySigner }) {
      const registration = {
        aid: body.aid,
        kel: fromBase64url(body.kel),
        profile: profileOf(body),
        keys: body.enc_keys === undefined ? undefined : fromBase64url(body.enc_keys),
        prevSeq: body.prev_seq,
        pow: body.pow && { seed: fromBase64url(body.pow.seed), nonce: fromBase64url(body.pow.nonce) },
        checkOnly: body.check_only ?? false,
        card: body.a2a_card === undefined ? undefined : { value: body.a2a_card, baseUrl: baseUrl() },
      }
      const registered = await registry.register(registration, address, verifySigner)
      return registerAnswer(registered)
    },
    async publishKeys({ signer, body }) {
      const status = await registry.publishKeys(signer.row.aid, fromBase64url(body.keys), body.prev_seq)
      return { keys_status: status === 'unchanged' ? 'unchanged' : 'stored' }
    },
    async agentKeys({ params }) {
      const agent = await agents.find(params['aid'] ?? '')
      if (agent === undefined) throw new Refusal('unknownAgent')
      if (!agent.row.registered || agent.keys === undefined)
        throw new Refusal('resourceUnknown', {
          why: 'the agent has no key set here',
          step: 'ask again once it has published one',
        })
      return {
        aid: agent.row.aid,
        keys: toBase64url(KeySet.encode(agent.keys)),
        kel: toBase64url(agent.row.kel),
      }
    },
    async pushKel({ body, address }) {
      const { seq, head, unchanged } = await registry.push(body.aid, fromBase64url(body.kel), address)
      return { aid: body.aid, seq, head: toBase64url(head), unchanged }
    },
    async hubIdentity() {
      return {
        aid: identity.aid,
        kel: toBase64url(encodeKel(identity.kel.events)),
        wire: 3,
        dir_max_bits: await directory.bitsMax(),
      }
    },
    async agentKel({ params }) {
      const agent = await agents.find(params['aid'] ?? '')
      if (agent === undefined) throw new Refusal('unknownAgent')
      return { aid: agent.row.aid, kel: toBase64url(agent.row.kel), registered: agent.row.registered }
    },
    async updateProfile({ signer, body }) {
      await registry.updateProfile(signer, profileOf(body))
      return { status: 'profile_updated' }
    },
    async setVisibility({ signer, body }) {
      await registry.setVisibility(signer, body.visibility)
      return { status: 'visibility_set', visibility: body.visibility }
    },
    async deregister({ signer }) {
      return { status: 'deregistered', undelivered: await registry.deregister(signer) }
    },
  }
}

function profileOf(body: {
  name?: string | undefined
  caps?: string[] | undefined
  summary?: string | undefined
  readme?: string | undefined
}): Profile {
  const { name, caps, summary, readme } = body
  return {
    ...present({ name, caps, summary, readme }),
  }
}

function registerAnswer(registered: Registered) {
  if ('checked' in registered) return { status: registered.checked }
  const { keysStatus, cardStatus, probationUntilMs, trial } = registered
  return {
    status: 'registered' as const,
    keys_status: keysStatus,
    card_status: cardStatus,
    ...present({ probation_until: probationUntilMs, trial }),
  }
}
