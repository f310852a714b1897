/** Variables of the environment that a user of the command line may set. */
export const environment: readonly { readonly name: string; readonly says: string }[] = [
  { name: 'SVC_ID', says: 'the identity that is meant, as --id says it' },
  { name: 'SVC_DATA_DIR', says: 'the data directory of the one identity that is meant' },
  { name: 'SVC_HOME', says: 'the folder of all identities; without it ~/.svc' },
  { name: 'SVC_OUTPUT', says: 'human for tables that people read, json (the usual one) for programs' },
  { name: 'SVC_HINTS', says: '0 leaves out the next steps that a terminal gets' },
  { name: 'SVC_RUNTIME_DIR', says: 'the folder in which running nodes are named' },
  {
    name: 'SVC_EXEC_COMMAND',
    says: 'for tests: the program that the exec backend of auto-reply runs instead',
  },
  { name: 'SVC_DEBUG', says: 'also prints where in the program an unexpected error arose' },
  { name: 'NO_COLOR', says: 'set to anything, takes the colour out; so does TERM=dumb' },
  { name: 'NO_MOTION', says: 'set to anything, nothing on a terminal counts by the second' },
  { name: 'XDG_RUNTIME_DIR', says: 'where running nodes are named, before /tmp' },
  {
    name: 'XDG_STATE_HOME',
    says: 'where the head of the evidence chain is kept once more; without it ~/.local/state',
  },
  { name: 'XDG_CACHE_HOME', says: 'where the compiled program is kept; without it ~/.cache' },
]
