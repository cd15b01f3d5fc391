abi <abi/4.0>,

profile agent-cage-engine flags=(unconfined) {
  userns,
}
