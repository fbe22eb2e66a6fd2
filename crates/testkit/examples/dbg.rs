use warpbound_testkit::*;
use warpbound_testkit::execute::mix;
use warpbound_analyse::*;
use warpbound_simt::warp::{Model,DivergenceOrder};
fn main(){
  let a: Vec<String> = std::env::args().collect();
  let seed = u64::from_str_radix(a[1].trim_start_matches("0x"),16).unwrap();
  let mut rng = fastrand::Rng::with_seed(seed);
  let code = if rng.u8(0..3)==0 { generate::unstructured(&mut rng)} else {generate::structured(&mut rng)};
  for (i,o) in code.ops.iter().enumerate(){ println!("{i} {} {:?} {:?} r{:?} w{:?} {:?} {}",o.addr, o.condition, o.control, o.reads,o.writes,o.value, o.meaning.is_some()); }
  println!("{:?}", code.functions);
  let launch = Launch{ warp_width:[4,8,32,64][rng.usize(0..4)], block: rng.bool().then(|| [rng.u32(1..70), rng.u32(1..4),1]), global_is_stable:true};
  let order = if rng.bool(){DivergenceOrder::Any}else{DivergenceOrder::TakenFirst};
  println!("{launch:?} {order:?}");
  let model=Model{may_diverge:true,order,..Model::default()};
  match audit::Analysed::run(&code,launch,&model){
   Ok(an)=>{ for n in an.thread.space.ids(){ println!("node {} block {:?} thread {:?}\n   warp {:?}",n.0,an.thread.space.block(n),an.thread.steps[n.index()],an.warp.steps[n.index()]);
      if let Some(s)=an.warp.state(n){ println!("   stack {:?} agree {:?}", s.stack(), s.agreement(0).iter().filter(|&c| c<272).collect::<Vec<_>>()); } }
      for (i,e) in an.thread.space.entries.iter(){ println!("{i:?} {e:?}"); } println!("{:?}", an.loops); 
      if a.len()>2 { for r in &an.counts.rows { println!("{:?} {} {:?} {:?} {}", r.family, r.label, r.terms, r.relation, r.constant); } for (i,v) in an.counts.variables.iter().enumerate(){println!("v{i} {v:?}");} } },
   Err(e)=>println!("{e:?}"),
  }
  let mut reasons=std::collections::BTreeMap::new();
  for p in 1..200u64 { let mut rng=fastrand::Rng::with_seed(mix(&[1,p])); let s=rng.u8(0..3)==0; let code= if s {generate::unstructured(&mut rng)}else{generate::structured(&mut rng)};
    let r=match audit::Analysed::run(&code,Launch::default(),&model){Ok(_)=>"ok".to_string(),Err(e)=>{let t=format!("{:?}",e.reason); t[..t.len().min(18)].to_string()}};
    if !s && r.contains("Underflow") && code.ops.len()<28 { println!("{:#x} {r} {}", mix(&[1,p]), code.ops.len()); }
    *reasons.entry((s,r)).or_insert(0)+=1; }
  println!("{reasons:?}");
}
