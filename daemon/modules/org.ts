/** Values of an organisation: its members are told them directly, and nothing that is published may hold one. */
import { OrgScoped } from '../hubs/publication.ts'
import {
  type CallOutcome,
  type CapabilityCall,
  type Module,
  onlyMembers,
  ProviderFailed,
  unavailable,
} from './provider.ts'

export const module: Module | undefined = {
  name: 'org',
  open({ config, publication }) {
    if (config.org === undefined) return []
    const { members, values } = config.org
    const scoped = new Map(Object.entries(values).map(([name, value]) => [name, new OrgScoped(value)]))
    publication.declare('an org-scoped value', () => [...scoped.values()].map(value => value.reveal()))
    const run = async ({ args, caller }: CapabilityCall): Promise<CallOutcome> => {
      if (caller !== undefined && !members.includes(caller)) return unavailable('this caller is not allowed')
      onlyMembers(args, ['name'])
      const value = typeof args['name'] === 'string' ? scoped.get(args['name']) : undefined
      if (value === undefined) throw new ProviderFailed('there is no value of this name')
      return { status: 'OK', metrics: { found: 1 }, observedState: value.reveal() }
    }
    const org = {
      capability: 'org.get',
      summary: 'a value for members of the organisation',
      published: false,
      timeoutMs: 10_000,
      trust: { verify: 2, auth: 2 } as const,
      isPrivate: true as const,
      run,
    }
    return [org]
  },
}
